"""Sentences about the changes that a proof tests: their titles, and why one cannot be tested. Pure."""
