"""Opened files: compression, encodings, JSON, archives, SQLite. Pure."""
