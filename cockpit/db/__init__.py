"""Database backends."""
