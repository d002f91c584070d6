"""Backups of a whole store: one file with the database, the stored files and the keys."""
