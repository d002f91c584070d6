"""Golden runs: an agent runs again with its calls answered from recordings, and has to do the same."""
