"""Recorded runs: read, write, list, search and copy; REST endpoints."""
