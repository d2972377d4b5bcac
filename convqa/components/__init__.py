"""The components that answer a turn: one folder per station, one class per file."""
