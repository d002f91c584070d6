"""Full-text search in the payloads of all runs: the index, its background writer, and the hits to show."""
