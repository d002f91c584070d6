"""Bisections: find the last step from which a failing run can still succeed."""
