"""What a replay would do with every step, and what it would cost. Pure."""
