"""The steps of a run: as a list, and complete."""
