"""Redaction, retention and deletion on a real database."""
