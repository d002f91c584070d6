"""Six small pipelines with a deterministic model that really obeys its prompt, so that causes can be known."""
