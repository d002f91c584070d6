"""Help with a single failing run: places to look at, each with its evidence. They are never called causes.

The package is part of `replay` because what counts as a write is the review of tools, which is kept there. It
compares nothing: the nearest passing runs are offered for a diff.
"""
