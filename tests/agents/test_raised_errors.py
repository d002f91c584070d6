"""Tools that raise what their framework reads: a rerun raises it again, so that the framework does what it did."""

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.clients.environments import environment
from tests.services.server import Server
from tests.support.gateway_runs import record, run_agent, run_of
from tests.support.http import HTTP
from tests.support.patience import wait_until
from tests.support.servers.provider_server import Exchange, provider_server

pytestmark = [pytest.mark.own_store, pytest.mark.framework]
_PYDANTIC: Final = """
from pydantic_ai import Agent, ApprovalRequired, DeferredToolRequests, DeferredToolResults, ModelRetry, RunContext
agent = Agent("openai-chat:m1", output_type=[str, DeferredToolRequests])
cities = []
@agent.tool
def get_time(context: RunContext, city: str) -> str:
    print("runs", flush=True)
    cities.append(city)
    if len(cities) == 1:
        raise ModelRetry("which Oslo?")
    if not context.tool_call_approved:
        raise ApprovalRequired(metadata={"city": city})
    return "noon"
result = agent.run_sync("Time?")
while isinstance(result.output, DeferredToolRequests):
    print(result.output.metadata)
    approvals = dict.fromkeys(result.output.metadata, True)
    history = result.all_messages()
    result = agent.run_sync(message_history=history, deferred_tool_results=DeferredToolResults(approvals=approvals))
print(result.output, result.usage.tool_calls)
"""
_LANGGRAPH: Final = """
from langchain.agents import create_agent
from langchain_core.tools import ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
@tool
def get_time(city: str) -> str:
    "The time."
    print("runs", flush=True)
    answers = interrupt({"may I": city}), interrupt("really?")
    raise ToolException(f"no clock: {answers}")
get_time.handle_tool_error = True
graph = create_agent("openai:m1", [get_time], checkpointer=InMemorySaver())
place = {"configurable": {"thread_id": "1"}}
state = graph.invoke({"messages": [("user", "Time?")]}, place)
while "__interrupt__" in state:
    [question] = state["__interrupt__"]
    print(question.value)
    state = graph.invoke(Command(resume={question.id: "yes"}), place)
print(state["messages"][-1].content)
"""
AGENTS: Final = {"pydantic-ai": ("pydantic-ai-2.68", _PYDANTIC), "LangGraph": ("langchain-1.4", _LANGGRAPH)}


def respond(exchange: Exchange) -> None:
    """Call the tool until it returns something else than a request to call it again, then repeat its result."""
    results = [message["content"] for message in exchange.body["messages"] if message["role"] == "tool"]
    is_last = bool(results) and "which Oslo?" not in results[-1]
    function = {"name": "get_time", "arguments": json.dumps({"city": "Oslo"})}
    call = {"id": f"c{len(results)}", "type": "function", "function": function}
    answer = {"content": results[-1]} if is_last else {"content": None, "tool_calls": [call]}
    choice = {
        "index": 0,
        "message": {"role": "assistant", **answer},
        "finish_reason": "stop" if is_last else "tool_calls",
    }
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    facts = {"id": "x", "object": "chat.completion", "created": 1, "model": "m1", "usage": usage}
    exchange.status(200, {**facts, "choices": [choice]})


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with provider_server(respond) as provider:
        variables = {"FORKPOINT_QUIET_S": "1", "OPENAI_API_KEY": "key", "OPENAI_BASE_URL": f"{provider.base_url}/v1"}
        server = Server(tmp_path_factory.mktemp("server") / "home", "--no-demo", env=variables)
        server.start()
        yield server
        server.stop()


@pytest.mark.parametrize("name", AGENTS)
def test_framework_reads_a_recorded_error_as_the_raised_one(server: Server, name: str) -> None:
    environment_name, program = AGENTS[name]
    python = [str(environment(environment_name))]
    recording = record(server, program, python=python)
    assert recording.returncode == 0, recording.stderr
    run = run_of(recording)
    wait_until(lambda: HTTP.get(f"{server.url}/api/v1/runs/{run}").json().get("sealed"), 30)
    again: Any = run_agent(server, ["rerun", run], program, python=python)
    assert (again.returncode, again.stdout) == (0, recording.stdout.replace("runs\n", "")), again.stderr
    assert recording.stdout.count("runs\n") == 3
