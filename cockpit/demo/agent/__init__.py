"""The order desk: a small real agent, its tools and its recordings."""
