"""Replays that survive: real processes are killed and restarted while live calls go to a server that counts them."""
