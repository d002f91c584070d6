"""Recorded runs: reading, writing, search, REST."""
