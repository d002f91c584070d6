"""The tree of a run and its forks."""
