"""Probes: one counterfactual replay each, in memory or as a session."""
