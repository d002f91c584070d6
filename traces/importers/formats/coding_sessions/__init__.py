"""Sessions of coding agents that store the messages of their models: opencode, Cline, Goose."""
