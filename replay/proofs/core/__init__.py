"""Vocabulary and schemas of proofs. Pure."""
