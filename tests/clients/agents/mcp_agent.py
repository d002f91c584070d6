"""A client session of an MCP server on standard streams: two calls at once, and one that fails."""

import asyncio
import sys
from pathlib import Path

from mcp import ClientSession, StdioServerParameters, stdio_client

SERVER = str(Path(__file__).parent / "mcp_desk.py")


async def main() -> None:
    parameters = StdioServerParameters(command=sys.executable, args=[SERVER])
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        await asyncio.gather(
            session.call_tool("get_weather", {"city": "Zürich"}), session.call_tool("get_time", {"city": "Zürich"})
        )
        result = await session.call_tool("get_weather", {"city": "nowhere"})
        print(result.content[0].text)


asyncio.run(main())
