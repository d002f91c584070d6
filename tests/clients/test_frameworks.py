"""Agent frameworks: their agents and tools around the model calls that a client below them makes."""

import json
import re
from pathlib import Path

import pytest

from tests.clients.checks import check_error, check_model_calls, check_replay, check_tools
from tests.clients.model_server import ModelServer
from tests.clients.recording import Recording, record
from tests.support.command_line import WarmShell
from traces.core.json_access import as_object
from traces.core.vocabulary import StepType

LANGCHAIN = ("langchain-1.5", "langchain-1.4")
DRAWN_ID = re.compile(r'"(lc_run-)?-?[0-9a-f]{8}-')
AGENTS_SDK = ("agents-0.24", "agents-0.23")
PYDANTIC_AI = ("pydantic-ai-2.68", "pydantic-ai-2.66")
SMOLAGENTS = ("smolagents-1.26", "smolagents-1.25")
CREWAI = ("crewai-1.15.30", "crewai-1.15.29")
# Each agent with its environments, and whether the framework knows the ids of calls.
FUNCTION_TOOLS = {
    "adk_agent": ("adk-2.13", "adk-2.12", False),
    "llama_index_agent": ("llama-index-0.14.25", "llama-index-0.14.24", False),
    "dspy_agent": ("dspy-3.4", "dspy-3.3", False),
    "strands_agent": ("strands-1.62", "strands-1.61", True),
    "agno_agent": ("agno-3.1.10", "agno-3.1.9", True),
    "semantic_kernel_agent": ("semantic-kernel-1.45", "semantic-kernel-1.44", False),
    "agent_framework_agent": ("agent-framework-1.23", "agent-framework-1.22", True),
    "haystack_agent": ("haystack-3.4", "haystack-3.3", False),
    "anthropic_runner_agent": ("anthropic-2", "anthropic-1", False),
    "mirascope_agent": ("mirascope-2.8.2", "mirascope-2.8.1", True),
}


def check_structure(recording: Recording, *agents: str) -> None:
    """Check that the agents are nested as named, and all other steps belong to the innermost."""
    steps = recording.steps(StepType.AGENT)
    assert [step.name for step in steps] == list(agents)
    assert [step.parent for step in steps] == [None, *[step.key for step in steps[:-1]]]
    assert {step.parent for step in recording.steps(StepType.MODEL, StepType.TOOL)} == {steps[-1].key}


@pytest.mark.parametrize("version", LANGCHAIN)
@pytest.mark.parametrize(
    ("how", "api"),
    [("sync", "chat"), ("async", "responses"), ("stream", "chat"), ("async stream", "chat"), ("sync", "anthropic")],
)
def test_langchain_agent_is_recorded(
    version: str, how: str, api: str, server: ModelServer, tmp_path: Path, forkpoint: WarmShell
) -> None:
    recording = record(version, "langchain_agent", how, api, server=server, folder=tmp_path)
    check_model_calls(recording, server)
    check_tools(recording)
    check_structure(recording, "desk")
    check_replay(recording, forkpoint)
    # The library draws them anew in each execution.
    [agent] = recording.steps(StepType.AGENT)
    assert not DRAWN_ID.search(json.dumps(agent.output))


@pytest.mark.parametrize("version", LANGCHAIN)
def test_langchain_model_without_known_client_is_recorded(version: str, server: ModelServer, tmp_path: Path) -> None:
    recording = record(version, "langchain_plain", server=server, folder=tmp_path)
    [search] = recording.steps(StepType.RETRIEVAL)
    assert search.input == {"query": "refunds"}
    assert search.output == {"documents": [{"id": "d1", "content": "about refunds", "metadata": {"page": 3}}]}
    [model] = recording.steps(StepType.MODEL)
    assert as_object(model.input)["messages"] == [{"role": "user", "content": "Hi"}]
    assert as_object(as_object(model.output)["message"])["content"] == "Hello."


@pytest.mark.parametrize("version", AGENTS_SDK)
@pytest.mark.parametrize(("how", "api"), [("async", "responses"), ("stream", "responses"), ("stream", "chat")])
def test_agents_sdk_agent_is_recorded(
    version: str, how: str, api: str, server: ModelServer, tmp_path: Path, forkpoint: WarmShell
) -> None:
    recording = record(version, "agents_agent", how, api, server=server, folder=tmp_path)
    if api == "responses":
        check_model_calls(recording, server)
    check_tools(recording)
    check_structure(recording, "desk")
    check_replay(recording, forkpoint)


@pytest.mark.parametrize("version", AGENTS_SDK)
def test_agents_sdk_without_tracing_is_recorded(version: str, server: ModelServer, tmp_path: Path) -> None:
    recording = record(version, "agents_agent", "async", "responses", "alone", server=server, folder=tmp_path)
    check_model_calls(recording, server)
    check_tools(recording)


@pytest.mark.parametrize("version", PYDANTIC_AI)
@pytest.mark.parametrize(("how", "api"), [("sync", "openai"), ("stream", "openai"), ("stream", "anthropic")])
def test_pydantic_ai_agent_is_recorded(
    version: str, how: str, api: str, server: ModelServer, tmp_path: Path, forkpoint: WarmShell
) -> None:
    recording = record(version, "pydantic_agent", how, api, server=server, folder=tmp_path)
    check_model_calls(recording, server)
    check_tools(recording)
    check_structure(recording, "desk")
    check_replay(recording, forkpoint)


@pytest.mark.parametrize("version", SMOLAGENTS)
@pytest.mark.parametrize("how", ["sync", "stream"])
def test_smolagents_agent_is_recorded(
    version: str, how: str, server: ModelServer, tmp_path: Path, forkpoint: WarmShell
) -> None:
    recording = record(version, "smolagents_agent", how, server=server, folder=tmp_path)
    assert recording.requests() == [body for _, body in server.requests]
    assert len(recording.steps(StepType.MODEL)) == 3
    assert [step.tool_name for step in recording.steps(StepType.TOOL)][-1] == "final_answer"
    check_structure(recording, "desk")
    check_replay(recording, forkpoint)


@pytest.mark.parametrize("version", CREWAI)
@pytest.mark.parametrize("how", ["sync", "stream"])
def test_crewai_crew_is_recorded(
    version: str, how: str, server: ModelServer, tmp_path: Path, forkpoint: WarmShell
) -> None:
    recording = record(version, "crewai_agent", how, server=server, folder=tmp_path)
    check_model_calls(recording, server)
    check_tools(recording, with_ids=False)
    check_structure(recording, "crew", "desk")
    check_replay(recording, forkpoint)


@pytest.mark.parametrize("version", CREWAI)
def test_crewai_tools_without_tool_calls_are_recorded(
    version: str, server: ModelServer, tmp_path: Path, forkpoint: WarmShell
) -> None:
    recording = record(version, "crewai_agent", "text", server=server, folder=tmp_path)
    check_tools(recording, with_ids=False)
    check_structure(recording, "crew", "desk")
    check_replay(recording, forkpoint)


def test_autogen_agent_is_recorded(server: ModelServer, tmp_path: Path, forkpoint: WarmShell) -> None:
    recording = record("autogen-0.7", "autogen_agent", server=server, folder=tmp_path)
    check_model_calls(recording, server)
    check_tools(recording)
    check_replay(recording, forkpoint)


@pytest.mark.parametrize("place", [0, 1], ids=["current", "before"])
@pytest.mark.parametrize("agent", FUNCTION_TOOLS)
def test_function_tools_are_recorded(agent: str, place: int, server: ModelServer, tmp_path: Path) -> None:
    *versions, with_ids = FUNCTION_TOOLS[agent]
    check_tools(record(str(versions[place]), agent, server=server, folder=tmp_path), with_ids=bool(with_ids))


@pytest.mark.parametrize(
    ("version", "agent"),
    [
        ("langchain-1.5", "langchain_agent"),
        ("agents-0.24", "agents_agent"),
        ("pydantic-ai-2.68", "pydantic_agent"),
        ("smolagents-1.26", "smolagents_agent"),
    ],
)
def test_errors_are_recorded(version: str, agent: str, server: ModelServer, tmp_path: Path) -> None:
    recording = record(version, agent, "sync", "error", server=server, folder=tmp_path)
    check_error(recording, server)
