"""Fault tests: real processes are killed and restarted while a server counts their live calls."""
