"""The way of events out of the agent's process: a queue, a background thread, and a folder or server behind it."""
