"""Agent frameworks under OpenInference's instrumentations."""

from itertools import groupby
from typing import Any

import pytest

from tests.clients.otlp.checks import check_failure, check_run
from tests.clients.otlp.nothing_lost import check_nothing_lost
from tests.clients.otlp.traced_runs import Client, Desk
from traces.importers.formats.tracing.client_calls import model_request

ECHOES = frozenset({"temperature", "top_p", "parallel_tool_calls", "tool_choice"})
# What the client does not send, by API and way of working.
LACKS = {
    ("responses", "async"): (),
    ("responses", "stream"): (),
    ("chat", "async"): ("tools", "cached", "reasoning", "reason"),
    ("chat", "stream"): ("tools", "tokens", "cached", "reasoning"),
}


def openinference(framework: str, *lacks: str) -> Client:
    echoes = ECHOES if framework == "agents" else frozenset[str]()
    environment = f"openinference-{framework}"
    return Client(environment=environment, tracer="openinference", lacks=frozenset(lacks), echoes=echoes)


@pytest.mark.parametrize(("api", "how"), LACKS)
def test_agents_sdk(desk: Desk, api: str, how: str) -> None:
    client = openinference("agents", *LACKS[api, how])
    check_run(desk, desk.record(client, "agents_agent", how, api), client)


@pytest.mark.parametrize("how", ["sync", "stream"])
def test_crewai(desk: Desk, how: str) -> None:
    client = openinference("crewai", "name")
    check_run(desk, desk.record(client, "crewai_agent", how), client)


@pytest.mark.parametrize("how", ["sync", "stream"])
def test_smolagents(desk: Desk, how: str) -> None:
    run = desk.record(openinference("smolagents"), "smolagents_agent", how)
    steps = run.of_type("model")
    assert len(steps) == len(desk.model.requests) == 3
    for step, (_, body) in zip(steps, desk.model.requests, strict=True):
        request: Any = model_request({"api": "openai.chat", "request": body})
        # The client joins messages of one role after the span has recorded them.
        assert _texts(step["input"]["messages"]) == _texts(request["messages"])
        assert (step["input"]["tools"], step["input"]["parameters"]["stop"]) == (request["tools"], body["stop"])
        assert (step["tokens_in"], step["tokens_out"]) == (30, 9)
    calls = [call for step in steps for call in step["output"]["message"]["tool_calls"]]
    made = [(tool["call_id"], tool["tool_name"], tool["input"]) for tool in run.of_type("tool")]
    assert sorted(made, key=str) == sorted(((call["id"], call["name"], call["arguments"]) for call in calls), key=str)
    check_nothing_lost(desk.tap.spans(), run.trace)
    desk.check_replay(run)


def _texts(messages: list[Any]) -> list[tuple[str, str]]:
    """Return role and text of each turn, without the white space around its parts."""
    turns = groupby(messages, key=lambda message: message["role"])
    return [(role, "".join("".join(map(_text, turn)).split())) for role, turn in turns]


def _text(message: Any) -> str:
    content = message["content"]
    return "".join(block["text"] for block in content) if isinstance(content, list) else content or ""


@pytest.mark.parametrize(
    ("framework", "agent", "lacks"),
    [("agents", "agents_agent", ["failed request"]), ("smolagents", "smolagents_agent", ["tool_choice", "tools"])],
)
def test_refused_call_is_recorded(desk: Desk, framework: str, agent: str, lacks: list[str]) -> None:
    client = openinference(framework, *lacks)
    check_failure(desk, desk.record(client, agent, "sync", "error"), client)
