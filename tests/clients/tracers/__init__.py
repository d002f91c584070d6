"""Agents that are traced by other vendors' clients; only the configuration points these at Forkpoint."""
