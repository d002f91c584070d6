"""Spans as consoles print them that write no JSON: of OpenTelemetry for JavaScript and for .NET. Pure."""
