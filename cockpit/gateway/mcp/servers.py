"""The operator's MCP servers, to which the gateway passes messages."""

from typing import Final

from django.conf import settings
from pydantic import TypeAdapter, ValidationError

from cockpit.gateway.refusals import Refusal
from replay.live.operator_urls import OperatorUrl
from traces.core.schema import Schema

VARIABLE: Final = "FORKPOINT_MCP_SERVERS"


class McpServer(Schema):
    """A server over streamable HTTP."""

    url: OperatorUrl


_SERVERS: Final = TypeAdapter(dict[str, McpServer])


def address(name: str) -> str:
    """Return the URL of a server; raise `Refusal` if the configuration has none."""
    try:
        server = _SERVERS.validate_python(settings.MCP_SERVERS).get(name)
    except ValidationError as error:
        place = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise Refusal(status=400, reason=f"{VARIABLE}.{place} is wrong: {error.errors()[0]['msg']}") from error
    if server is None:
        raise Refusal(status=404, reason=f"{VARIABLE} has no server “{name}”")
    return str(server.url)
