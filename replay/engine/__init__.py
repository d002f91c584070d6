"""The replay itself. Pure."""
