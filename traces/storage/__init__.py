"""Content-addressed store of artifacts."""
