"""PostgreSQL that accepts any text."""
