"""The operator's MCP servers: a wrong entry stops the start, and the configuration in effect lists the others."""

from typing import Any

import pytest
from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from cockpit.http.config_report import effective


@pytest.mark.parametrize("entry", [{"ur": "http://127.0.0.1:9000/mcp"}, {"url": "ftp://127.0.0.1/mcp"}, {}])
def test_start_refuses_wrong_servers(entry: Any, settings: Settings) -> None:
    settings.MCP_SERVERS = {"desk": entry}
    with pytest.raises(ImproperlyConfigured, match=r"^FORKPOINT_MCP_SERVERS\.desk\.url: "):
        apps.get_app_config("replay").ready()


def test_configuration_lists_servers_without_secrets(settings: Settings) -> None:
    settings.MCP_SERVERS = {"desk": {"url": "http://127.0.0.1:9000/mcp?key=hidden"}}
    assert [server.model_dump() for server in effective().mcp_servers] == [
        {"name": "desk", "url": "http://127.0.0.1:9000/mcp"}
    ]
