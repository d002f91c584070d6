"""Tools, and the review of their side effects."""
