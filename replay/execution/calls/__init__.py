"""Live calls of a session: models, tools, retrieval, and their attempts."""
