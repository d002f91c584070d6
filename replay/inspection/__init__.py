"""Help with a single failing run: places worth a look, with evidence. Places are never called causes.

The package belongs to `replay` because a tool's review decides what counts as a write. It compares no runs; it offers
the nearest passing runs for a diff.
"""
