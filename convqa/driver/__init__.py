"""The driver: answers conversations and keeps all their state, in history, waves and journal."""
