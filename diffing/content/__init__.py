"""What differs inside a pair of steps. Pure."""
