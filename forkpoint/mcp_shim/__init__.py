"""`forkpoint mcp-shim -- COMMAND`: stands before an MCP server on standard streams."""
