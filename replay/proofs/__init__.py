"""Proofs: which change made the difference."""
