"""The addresses of the operator's MCP servers."""

from cockpit.gateway.refusals import Refusal
from replay.live.mcp_servers import VARIABLE, configured_servers


def address(name: str) -> str:
    """Return the URL of a server; raise `Refusal` if the configuration has none."""
    server = configured_servers().get(name)
    if server is None:
        raise Refusal(status=404, reason=f"{VARIABLE} has no server “{name}”")
    return str(server.url)
