"""Everything that leaves the process: models, tools, retrievers, and where calls may go."""
