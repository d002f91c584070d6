"""Running an agent again, with its calls answered from a recording."""
