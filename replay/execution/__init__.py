"""Execution of one session by one worker."""
