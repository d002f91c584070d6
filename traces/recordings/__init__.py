"""Runs that arrive over the network: their segments, their assembly, and when they are sealed."""
