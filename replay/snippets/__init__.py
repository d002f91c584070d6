"""Snippets: a step's recorded call as a command or a program to copy."""
