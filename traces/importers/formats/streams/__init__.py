"""Answers of models that were recorded while they came: server-sent events, chunks and events of sessions."""
