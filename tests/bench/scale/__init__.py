"""The product at 100,000 runs and 10 million steps: a loader of realistic rows, and the latency of every query."""
