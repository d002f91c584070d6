"""The evidence ladder. Pure."""
