"""Usage of models and tools over all runs: totals by app and day, kept with the runs that they count."""
