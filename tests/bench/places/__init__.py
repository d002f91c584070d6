"""How often the places of the inspection are the steps that people blamed."""
