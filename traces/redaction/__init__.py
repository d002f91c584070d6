"""Redaction: detect secrets and personal data, apply field rules, and replace values by markers. Pure."""
