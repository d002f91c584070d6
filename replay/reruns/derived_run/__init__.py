"""The run that a fork of a running agent becomes."""
