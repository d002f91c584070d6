"""The tools of the desk as an MCP server, for both generations of its library."""

import importlib

import desk

try:
    server = importlib.import_module("mcp.server").MCPServer("desk")
except AttributeError:
    server = importlib.import_module("mcp.server.fastmcp").FastMCP("desk")


@server.tool()  # type: ignore[untyped-decorator] - of either library
def get_weather(city: str) -> str:
    if city == "nowhere":
        raise ValueError("there is no such city")
    return desk.get_weather(city)


@server.tool()  # type: ignore[untyped-decorator] - of either library
def get_time(city: str) -> str:
    return desk.get_time(city)


server.run()
