"""Prepare recordings for storage: validation, rows, judgements. Pure."""
