"""The demo: an order desk, its local model, and recordings."""
