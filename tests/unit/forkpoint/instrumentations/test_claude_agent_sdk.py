"""Functions of servers in the process of an agent of the Claude Agent SDK."""

import asyncio
from types import ModuleType, SimpleNamespace
from typing import Any, NoReturn

import pytest

from forkpoint.answers import Answer, Reply
from forkpoint.instrumentations.function_tools import claude_agent_sdk
from forkpoint.recorder import recorder


class Session:
    """A rerun that gives one reply to everything."""

    def __init__(self, reply: Reply) -> None:
        self.questions: list[tuple[str, Any]] = []
        self.names: list[str] = []
        self._reply = reply

    def ask(self, type: str, name: str, arguments: Any, *_: Any) -> Reply:
        self.questions.append((name, arguments))
        return self._reply

    def refuse(self, reason: str) -> NoReturn:
        raise SystemExit(reason)

    def declare_tools(self, names: list[str]) -> None:
        self.names += names


def call(monkeypatch: pytest.MonkeyPatch, reply: Reply) -> tuple[Any, Session]:
    """Return what a tool of the server `my desk` returns to a call in a rerun."""

    async def get_time(arguments: dict[str, Any]) -> Any:
        return {"content": [{"type": "text", "text": f"noon in {arguments['city']}"}]}

    session = Session(reply)
    monkeypatch.setattr(recorder, "session", session)
    library: Any = ModuleType("claude_agent_sdk")
    library.create_sdk_mcp_server = lambda name, version, tools: tools
    claude_agent_sdk.patch_servers(library)
    tool = SimpleNamespace(name="get_time", input_schema={"city": str}, handler=get_time)
    [recorded_tool] = library.create_sdk_mcp_server("my desk", tools=[tool])
    return asyncio.run(recorded_tool.handler({"city": "Bern"})), session


def test_function_is_answered_under_the_name_that_the_model_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    outputs: tuple[Any, ...] = ("midnight", {"hour": 0}, {"content": []})
    results = [call(monkeypatch, Reply(answer=Answer(output)))[0] for output in outputs]
    texts = [result["content"] for result in results]
    assert texts == [[{"type": "text", "text": "midnight"}], [{"type": "text", "text": '{"hour": 0}'}], []]
    result, session = call(monkeypatch, Reply(arguments={"city": "Oslo"}))
    assert result == {"content": [{"type": "text", "text": "noon in Oslo"}]}
    assert (session.names, session.questions) == (
        ["mcp__my_desk__get_time"],
        [("mcp__my_desk__get_time", {"city": "Bern"})],
    )
    with pytest.raises(SystemExit, match="it has no argument “town”"):
        call(monkeypatch, Reply(arguments={"town": "Oslo"}))
