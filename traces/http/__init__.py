"""REST plumbing that all apps share."""
