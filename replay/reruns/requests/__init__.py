"""Requests of an agent: as it sends them, as a fork edits them, and the formats of the APIs."""
