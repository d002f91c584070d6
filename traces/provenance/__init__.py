"""Which step consumed what an earlier one produced. Pure."""
