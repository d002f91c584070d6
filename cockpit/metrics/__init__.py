"""Metrics of this process and of the store, for Prometheus."""
