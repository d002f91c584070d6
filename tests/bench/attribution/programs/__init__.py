"""Agents with code between their calls: it routes, cuts, counts and forgets, and none of that is recorded."""
