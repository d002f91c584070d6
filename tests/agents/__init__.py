"""Tests with one real agent of each framework (`make test-agents`)."""
