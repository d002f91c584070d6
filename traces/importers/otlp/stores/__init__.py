"""Spans as other trace stores export them, converted to the documents of OpenTelemetry for Python. Pure."""
