"""Logs of gateways: requests to models with their answers, grouped by session or trace."""
