"""Graphs, payloads and caches that replays read and write."""
