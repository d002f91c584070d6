"""Changes between two runs, as overrides. Pure."""
