"""Exports and files of chat clients, in which one message may have several answers of a model with their calls."""
