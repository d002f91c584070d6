"""Read files into runs, with limits. Pure."""
