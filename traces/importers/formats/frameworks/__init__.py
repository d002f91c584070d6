"""Recordings of agent frameworks. Pure."""
