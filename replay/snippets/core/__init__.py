"""Requests of model APIs and calls of tools as text. Pure."""
