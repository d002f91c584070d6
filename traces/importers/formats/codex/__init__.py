"""Recordings of Codex: rollouts, events that repeat their items, and the output of its command."""
