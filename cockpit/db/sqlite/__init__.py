"""SQLite with a fair queue for writers."""
