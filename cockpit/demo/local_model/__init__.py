"""The local deterministic model that the demo runs on; not an LLM."""
