"""Agents whose tracers send OpenTelemetry; only the configuration points these at Forkpoint."""
