"""Detection of volatile fields from pairs of recordings. Pure."""
