"""Platforms on which workflows are drawn: their runs, with a step for each node. Pure."""
