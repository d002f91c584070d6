"""Commands on the local store as a whole."""
