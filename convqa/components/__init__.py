"""What answers a turn: one folder a station, one class a file."""
