"""Client sessions of MCP servers."""

import asyncio
from types import SimpleNamespace
from typing import Any

from forkpoint.instrumentations.mcp import _describe as describe
from forkpoint.instrumentations.mcp import _note_title as note_title


class Session:
    """A client session of either generation."""

    def __init__(self, result: Any) -> None:
        self.result = result


async def initialize(session: Session) -> Any:
    return session.result


def test_call_has_the_name_of_its_server() -> None:
    desk = Session(SimpleNamespace(server_info=SimpleNamespace(name="desk")))
    branch = Session(SimpleNamespace(serverInfo=SimpleNamespace(name="branch")))
    titles = []
    for session in (desk, branch):
        asyncio.run(note_title(initialize)(session))
        step = describe((session, "lookup"), {})
        titles.append(None if step is None else step.attributes.get("mcp_server_title"))
    assert titles == ["desk", "branch"]
