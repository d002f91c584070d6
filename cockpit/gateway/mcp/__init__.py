"""MCP through the gateway: calls of a server's tools are recorded, and answered from a recording."""
