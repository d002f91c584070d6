"""Exports of platforms for observability and evaluation: spans of traces with their scores."""
