"""Answers that agents which run for one purpose share: those of several recordings, and of each other's live calls."""
