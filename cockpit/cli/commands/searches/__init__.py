"""Commands that start many replays and follow them."""
