"""What the instrumentations share: import hooks, patches, and the recording of calls and streams."""
