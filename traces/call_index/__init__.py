"""Index of recorded calls in the database, under the ignore list of their app."""
