"""Build the calls that a replay makes, and say what their answers mean for later steps. Pure."""
