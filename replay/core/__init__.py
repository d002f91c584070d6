"""Vocabulary of the engine: graph, calls, events, and the port to its environment. Pure."""
