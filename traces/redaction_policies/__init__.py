"""Stored redaction policies: versions, key, and the redaction that applies to an app."""
