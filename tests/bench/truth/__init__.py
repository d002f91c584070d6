"""Labels against the truth: random agent programs run again with each change, and compared with their forks."""
