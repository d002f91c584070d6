"""The derived run that a session writes: steps, checkpoints, containers, status."""
