"""Assertions on the outcome of a run. Pure."""
