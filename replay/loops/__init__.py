"""Follow an agent loop that diverged from its recording. Pure."""
