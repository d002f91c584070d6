"""OpenTelemetry traces. Pure."""
