"""Deletion of runs: on request and by policy, what protects a run from it, and what remains of it."""
