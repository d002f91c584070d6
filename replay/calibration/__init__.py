"""Calibrations: find fields that signatures should ignore."""
