"""Control replay of a diff: its base, replayed without the candidate's changes."""
