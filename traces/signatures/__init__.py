"""Signatures of calls, and what they ignore. Pure."""
