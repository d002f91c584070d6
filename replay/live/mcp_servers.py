"""The operator's MCP servers, to which the gateway passes messages."""

from typing import Final

from django.conf import settings

from replay.live.operator_entries import parse_entry
from replay.live.operator_urls import OperatorUrl
from traces.core.schema import Schema

VARIABLE: Final = "FORKPOINT_MCP_SERVERS"


class McpServer(Schema):
    """A server over streamable HTTP."""

    url: OperatorUrl


def configured_servers() -> dict[str, McpServer]:
    """Return the servers by name; raises `ImproperlyConfigured`."""
    return {name: parse_entry(McpServer, f"{VARIABLE}.{name}", entry) for name, entry in settings.MCP_SERVERS.items()}
