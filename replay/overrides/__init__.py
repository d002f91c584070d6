"""What a fork changes and what it may do. Pure."""
