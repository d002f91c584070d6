"""Recordings of tools that replay agents. Pure."""
