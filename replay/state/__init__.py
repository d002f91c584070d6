"""All that changes during one replay. Pure."""
