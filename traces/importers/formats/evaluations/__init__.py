"""Results of evaluations and benchmarks. Pure."""
