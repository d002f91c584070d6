"""Replay sessions: prepare, start, cancel, answer and list them."""
