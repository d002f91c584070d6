"""Recorded calls in the database, under the ignore list of their app."""
