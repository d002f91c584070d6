"""Attributes and events of tracers with names of their own, under names that the dialects read. Pure."""
