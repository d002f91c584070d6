"""Vocabulary of recordings: JSON, canonical form, recorded runs. Pure."""
