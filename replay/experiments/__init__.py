"""Experiments: many forks of one run, side by side."""
