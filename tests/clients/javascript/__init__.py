"""Agents in JavaScript that are traced by other vendors' clients, in throw-away environments of Node."""
