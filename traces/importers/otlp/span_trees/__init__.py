"""Traces of benchmarks as trees of spans."""
