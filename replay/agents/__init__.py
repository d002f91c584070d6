"""Sessions in which the agent itself runs: given to a runner, followed and ended."""
