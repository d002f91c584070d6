"""Live calls that leave the process: models, tools, retrievers, and the hosts they may reach."""
