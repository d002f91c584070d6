"""Reports and evidence as data. Pure."""
