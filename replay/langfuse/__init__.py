"""Exports to Langfuse."""
