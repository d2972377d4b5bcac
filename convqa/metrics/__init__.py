"""Measures as pure functions, one per file."""
