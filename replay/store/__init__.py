"""Reading and writing what replays need."""
