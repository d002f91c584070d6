"""Logs of Kimi's coding agents: Kimi CLI, and its successor Kimi Code."""
