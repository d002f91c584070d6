"""Endpoints of LangSmith clients."""
