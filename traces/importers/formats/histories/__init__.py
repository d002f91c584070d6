"""Histories that agent libraries store: sessions, threads and lists of messages."""
