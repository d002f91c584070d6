"""Provenance of stored runs: edges between their steps, and input content of unknown origin."""
