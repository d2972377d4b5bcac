"""Conversations in, responses out: history, waves, journal, resume. All state of a conversation lives here."""
