"""A long mixed load on one embedded server: whether it stays as small and as fast as it was."""
