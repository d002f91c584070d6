"""Rebuild the inputs of steps from changed outputs. Pure."""
