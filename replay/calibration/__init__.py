"""Calibrations: which fields signatures should ignore."""
