"""Search and conclusion of a bisection. Pure."""
