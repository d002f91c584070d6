"""What a proof is about: two runs and how they derive from one another."""
