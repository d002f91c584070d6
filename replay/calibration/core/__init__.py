"""Volatile fields from pairs of recordings. Pure."""
