"""The content-addressed store of artifacts."""
