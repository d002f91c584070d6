"""The demo: an order desk, the local model that runs it, and their recordings."""
