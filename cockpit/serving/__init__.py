"""Entry points of the processes that serve HTTP, and the embedded worker."""
