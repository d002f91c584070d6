"""Conversations of several agents, in which every message has a speaker."""
