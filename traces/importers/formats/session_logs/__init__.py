"""Logs of agents' sessions in which answers come in pieces, one event per line."""
