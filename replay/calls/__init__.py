"""Build the calls of a replay, and record what their answers change. Pure."""
