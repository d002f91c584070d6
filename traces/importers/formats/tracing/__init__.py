"""Exports of tracing systems. Pure."""
