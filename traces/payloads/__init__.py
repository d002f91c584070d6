"""Payloads in parts, and payloads of which parts are lost. Pure."""
