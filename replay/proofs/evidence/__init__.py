"""Findings of a proof, their confidence and their wording. Pure."""
