"""Judgements of runs."""
