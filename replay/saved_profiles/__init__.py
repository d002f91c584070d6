"""Saved override profiles and policies, and their JSON Schemas."""
