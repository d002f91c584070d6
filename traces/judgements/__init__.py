"""Judgements of runs and their outcomes."""
