"""Why the answers differ, as far as recordings can tell. Pure."""
