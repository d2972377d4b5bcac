"""What answers a turn: one folder per station, one class per file."""
