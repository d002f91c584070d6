"""Values that differ between two executions of the same code: which texts have them, and when they are generated."""
