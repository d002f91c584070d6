"""Replay sessions: prepare, start, stop, answer, list."""
