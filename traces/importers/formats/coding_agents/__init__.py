"""Sessions of coding agents. Pure."""
