"""JavaScript clients: Vercel AI SDK, Langfuse, OpenInference and LangSmith."""

from typing import Any

import pytest

from tests.clients.javascript.traced_agents import (
    NodeAgents,
    check_answers,
    check_messages,
    check_requests,
    check_tools,
)
from tests.clients.tracers.recording_server import RecordedTrace

_VERCEL = ("vercel-7", "vercel-6")


def _langfuse(agents: NodeAgents, mode: str) -> RecordedTrace:
    keys = {"LANGFUSE_BASE_URL": agents.server_url, "LANGFUSE_PUBLIC_KEY": "any", "LANGFUSE_SECRET_KEY": "any"}
    return agents.run("langfuse-5", "langfuse", judgements=2, MODE=mode, **keys)


def _langsmith(agents: NodeAgents, mode: str) -> RecordedTrace:
    address = {"LANGSMITH_ENDPOINT": f"{agents.server_url}/langsmith", "LANGSMITH_API_KEY": "any"}
    return agents.run(
        "langsmith-0.12",
        "langsmith",
        judgements=1,
        MODE=mode,
        LANGSMITH_TRACING="true",
        LANGSMITH_PROJECT="desk",
        **address,
    )


def _check_failure(trace: RecordedTrace) -> None:
    [call] = trace.of_type("model")
    assert (call["status"], call["output"], "this fails" in call["error"]) == ("error", None, True)


@pytest.mark.parametrize("mode", ["plain", "stream"])
@pytest.mark.parametrize("version", _VERCEL)
def test_vercel_run_contains_what_the_client_sent(agents: NodeAgents, version: str, mode: str) -> None:
    trace = agents.run(version, "vercel", API="chat", MODE=mode)
    check_requests(trace, agents.model)
    check_answers(trace)
    check_tools(trace)
    assert (trace.run["metadata"]["user.id"], trace.run["metadata"]["session.id"]) == ("u1", "s1")
    assert agents.replay(trace) == "completed_exact"


@pytest.mark.parametrize("version", _VERCEL)
def test_vercel_run_on_responses_is_the_same(agents: NodeAgents, version: str) -> None:
    trace = agents.run(version, "vercel", API="responses")
    check_answers(trace)
    check_tools(trace)
    assert agents.replay(trace) == "completed_exact"


@pytest.mark.parametrize("version", _VERCEL)
def test_vercel_failure_is_recorded(agents: NodeAgents, version: str) -> None:
    _check_failure(agents.run(version, "vercel", MODE="fail"))


def test_langfuse_run_contains_what_the_client_sent(agents: NodeAgents) -> None:
    trace = _langfuse(agents, "plain")
    check_requests(trace, agents.model)
    check_answers(trace)
    check_tools(trace)
    assert (trace.run["metadata"]["user.id"], trace.run["metadata"]["session.id"]) == ("u1", "s1")
    assert trace.run["tags"] == ["demo"]
    scores: dict[str, Any] = {item["name"]: (item["kind"], item["value"], item["text"]) for item in trace.judgements}
    assert scores == {"helpful": ("score", 0.75, "well done"), "tone": ("note", None, "calm")}
    assert agents.replay(trace) == "completed_exact"


def test_langfuse_stream_contains_what_the_client_sent(agents: NodeAgents) -> None:
    trace = _langfuse(agents, "stream")
    check_requests(trace, agents.model)
    check_tools(trace)
    # The client joins streamed calls, without their ids; the next request contains them.
    check_messages(trace)
    assert agents.replay(trace) == "completed_exact"


def test_langfuse_failure_is_recorded(agents: NodeAgents) -> None:
    trace = _langfuse(agents, "fail")
    _check_failure(trace)
    assert trace.run["status"] == "failed"


@pytest.mark.parametrize("mode", ["plain", "stream"])
def test_openinference_run_contains_what_the_client_sent(agents: NodeAgents, mode: str) -> None:
    trace = agents.run("openinference-4", "openinference", MODE=mode)
    check_requests(trace, agents.model)
    # The client sends no tokens of streams, and no span of a call that failed.
    (check_messages if mode == "stream" else check_answers)(trace)
    check_tools(trace)
    assert (trace.run["metadata"]["user.id"], trace.run["metadata"]["session.id"]) == ("u1", "s1")
    assert agents.replay(trace) == "completed_exact"


@pytest.mark.parametrize("mode", ["plain", "stream"])
def test_langsmith_run_contains_what_the_client_sent(agents: NodeAgents, mode: str) -> None:
    trace = _langsmith(agents, mode)
    check_requests(trace, agents.model)
    check_answers(trace)
    check_tools(trace)
    assert (trace.run["app"], trace.run["tags"]) == ("desk", ["demo"])
    assert (trace.run["metadata"]["user_id"], trace.run["metadata"]["session_id"]) == ("u1", "s1")
    assert [(item["name"], item["value"], item["text"]) for item in trace.judgements] == [
        ("helpful", 0.75, "well done")
    ]
    assert agents.replay(trace) == "completed_exact"


def test_langsmith_failure_is_recorded(agents: NodeAgents) -> None:
    _check_failure(_langsmith(agents, "fail"))
