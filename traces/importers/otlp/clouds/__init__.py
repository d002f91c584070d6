"""Spans and log records as the monitoring of clouds exports them, converted like those of other stores. Pure."""
