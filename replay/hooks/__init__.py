"""Configured hooks and telemetry."""
