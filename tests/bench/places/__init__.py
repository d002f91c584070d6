"""How often the inspection's places are the steps that people blamed."""
