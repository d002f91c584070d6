"""Configured hooks, their decisions, and telemetry counters over REST."""
