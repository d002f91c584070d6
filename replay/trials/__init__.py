"""Trying a tool or a retriever out."""
