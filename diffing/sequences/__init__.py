"""Generic diff algorithms for texts, lists and JSON. Pure."""
