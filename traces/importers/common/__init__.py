"""What several formats share: messages, model calls, spans, building a run. Pure."""
