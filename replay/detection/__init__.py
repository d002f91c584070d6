"""Agent loops and calls in a recording, recognised by their shape. Pure."""
