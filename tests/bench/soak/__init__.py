"""A long mixed load on one embedded server, to detect growth and slowdown."""
