"""The operator's MCP servers, to which the gateway passes messages."""

from typing import Final

import pydantic
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from replay.live.operator_urls import OperatorUrl
from traces.core.schema import Schema

VARIABLE: Final = "FORKPOINT_MCP_SERVERS"


class McpServer(Schema):
    """A server over streamable HTTP."""

    url: OperatorUrl


def configured_servers() -> dict[str, McpServer]:
    """Return the servers by name; raises `ImproperlyConfigured`."""
    return {name: _server(f"{VARIABLE}.{name}", entry) for name, entry in settings.MCP_SERVERS.items()}


def _server(location: str, entry: object) -> McpServer:
    try:
        return McpServer.model_validate(entry)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = "".join(f".{part}" for part in first["loc"])
        raise ImproperlyConfigured(f"{location}{place}: {first['msg'].removeprefix('Value error, ')}.") from error
