"""Endpoints to which agents and tracers send what they record, each in its own protocol."""
