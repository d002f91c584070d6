"""Deletion of runs and retention, on a real database."""
