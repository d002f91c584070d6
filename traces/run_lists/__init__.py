"""Lists over all runs: the runs list with its filters, facets and search, and the failed steps."""
