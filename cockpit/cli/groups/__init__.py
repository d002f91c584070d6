"""Commands and their options, by group."""
