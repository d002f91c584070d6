"""Counterfactual replays: their answers and outcomes. Pure."""
