"""Rows of training data in which a conversation is one text, or two."""
