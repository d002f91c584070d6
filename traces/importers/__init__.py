"""Importers: bytes of other programs' recordings to runs. Pure: no database, no network."""
