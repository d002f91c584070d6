"""What becomes of the calls of tools and searches that a running agent asks about."""
