"""Prepare a recording for the store: validation, rows, judgements. Pure."""
