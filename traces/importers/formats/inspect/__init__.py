"""Logs of Inspect (inspect_ai), and the events of their samples."""
