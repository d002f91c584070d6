"""Tools that do more than return: a rerun raises what their framework reads, and changes its state again."""

from typing import Any, Final

import pytest

from tests.clients.environments import environment
from tests.services.server import Server
from tests.support.gateway_runs import GatewaySession, record, run_agent, run_of

pytestmark = [pytest.mark.own_store, pytest.mark.framework]
_PYDANTIC: Final = """
from pydantic_ai import Agent, ApprovalRequired, DeferredToolRequests, DeferredToolResults, ModelRetry, RunContext
agent = Agent("openai-chat:m1", output_type=[str, DeferredToolRequests])
@agent.instructions
def known(context: RunContext) -> str:
    return f"Known: {context.deps}"
@agent.tool_plain
def get_weather(city: str) -> str:
    print("runs\\n", end="", flush=True)
    raise ModelRetry("which " + city + "?")
@agent.tool
def get_time(context: RunContext, city: str) -> str:
    print("runs\\n", end="", flush=True)
    if not context.tool_call_approved:
        raise ApprovalRequired(metadata={"city": city})
    context.deps["hours"].append(12.0)
    return "noon"
state = {"hours": []}
result = agent.run_sync("Weather and time?", deps=state)
while isinstance(result.output, DeferredToolRequests):
    print(result.output.metadata)
    approvals = dict.fromkeys(result.output.metadata, True)
    history = result.all_messages()
    results = DeferredToolResults(approvals=approvals)
    result = agent.run_sync(message_history=history, deferred_tool_results=results, deps=state)
print(state, [getattr(part, "content", "") for message in result.all_messages() for part in message.parts])
"""
_LANGGRAPH: Final = """
from langchain.agents import create_agent
from langchain_core.tools import ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
@tool
def get_weather(city: str) -> str:
    "The weather."
    print("runs\\n", end="", flush=True)
    return "sunny"
@tool
def get_time(city: str) -> str:
    "The time."
    answers = interrupt({"may I": city}), interrupt("really?")
    print("runs\\n", end="", flush=True)
    raise ToolException(f"no clock: {answers}")
get_time.handle_tool_error = True
graph = create_agent("openai:m1", [get_weather, get_time], checkpointer=InMemorySaver())
place = {"configurable": {"thread_id": "1"}}
state = graph.invoke({"messages": [("user", "Weather and time?")]}, place)
while "__interrupt__" in state:
    [question] = state["__interrupt__"]
    print(question.value)
    state = graph.invoke(Command(resume={question.id: "yes"}), place)
print([message.content for message in state["messages"]])
"""
_ADK: Final = """
import asyncio
from google.adk.agents import Agent
from google.adk.runners import InMemoryRunner
from google.adk.tools import ToolContext
from google.genai import types
def get_weather(city: str, tool_context: ToolContext) -> str:
    print("runs\\n", end="", flush=True)
    tool_context.state["cities"] = [*tool_context.state.get("cities", []), city]
    return "sunny"
def get_time(city: str, tool_context: ToolContext) -> str:
    print("runs\\n", end="", flush=True)
    tool_context.state["clock"] = {"hour": 12.0}
    return "noon"
agent = Agent(name="desk", model="gemini-9", instruction="Known: {cities?} {clock?}", tools=[get_weather, get_time])
async def main():
    runner = InMemoryRunner(agent, app_name="desk")
    place = {"user_id": "u", "session_id": "s"}
    await runner.session_service.create_session(app_name="desk", **place)
    question = types.Content(role="user", parts=[types.Part(text="Weather and time?")])
    async for _ in runner.run_async(new_message=question, **place):
        pass
    print((await runner.session_service.get_session(app_name="desk", **place)).state)
asyncio.run(main())
"""
_AGNO: Final = """
from agno.agent import Agent
from agno.models.openai import OpenAIChat
from agno.run import RunContext
def get_weather(run_context: RunContext, city: str) -> str:
    print("runs\\n", end="", flush=True)
    run_context.session_state["cities"].append(city)
    return "sunny"
def get_time(run_context: RunContext, city: str) -> str:
    print("runs\\n", end="", flush=True)
    run_context.session_state["clock"] = {"hour": run_context.session_state.pop("hour")}
    return "noon"
state = {"cities": [], "hour": 12.0}
model = OpenAIChat("gpt-4o-mini")
agent = Agent(model=model, tools=[get_weather, get_time], session_state=state, session_id="s", telemetry=False)
state = agent.run("Weather and time?").session_state
print({name: value for name, value in state.items() if not name.startswith("current_")})
"""
_AGENTS_SDK: Final = """
import dataclasses
from agents import Agent, RunContextWrapper, Runner, function_tool
@dataclasses.dataclass
class Known:
    cities: list[str]
    client: object
@function_tool
def get_weather(context: RunContextWrapper[Known], city: str) -> str:
    print("runs\\n", end="", flush=True)
    context.context.cities.append(city)
    return "sunny"
@function_tool
def get_time(context: RunContextWrapper[Known], city: str) -> str:
    print("runs\\n", end="", flush=True)
    context.context.cities = [*context.context.cities, "noon"]
    return "noon"
known = Known([], object())
agent = Agent("desk", instructions=lambda context, _: str(context.context.cities), tools=[get_weather, get_time])
Runner.run_sync(agent, "Weather and time?", context=known)
print(sorted(known.cities))
"""
_STRANDS: Final = """
from strands import Agent, ToolContext, tool
from strands.models.openai import OpenAIModel
@tool(context=True)
def get_weather(city: str, tool_context: ToolContext) -> str:
    "The weather."
    print("runs\\n", end="", flush=True)
    tool_context.agent.state.set("city", city)
    return "sunny"
@tool(context=True)
def get_time(city: str, tool_context: ToolContext) -> str:
    "The time."
    answer = tool_context.interrupt("clock", reason=city)
    print("runs\\n", end="", flush=True)
    return "noon: " + answer
agent = Agent(model=OpenAIModel(model_id="m1"), tools=[get_weather, get_time], callback_handler=None)
result = agent("Weather and time?")
while result.stop_reason == "interrupt":
    [question] = result.interrupts
    print(question.name, question.reason)
    result = agent([{"interruptResponse": {"interruptId": question.id, "response": "yes"}}])
print(agent.state.get())
"""
# The environment, the program, how often its tools run, and a part of what it prints.
AGENTS: Final = {
    "pydantic-ai": ("pydantic-ai-2.68", _PYDANTIC, 4, "{'hours': [12.0]}"),
    "LangGraph": ("langchain-1.4", _LANGGRAPH, 3, "no clock: ('yes', 'yes')"),
    "OpenAI Agents SDK": ("agents-0.24", _AGENTS_SDK, 3, "['Lima', 'Zürich', 'noon']"),
    "Google ADK": ("adk-2.13", _ADK, 3, "{'cities': ['Zürich', 'Lima'], 'clock': {'hour': 12.0}}"),
    "Strands Agents": ("strands-1.62", _STRANDS, 3, "{'city': 'Lima'}"),
    "Agno": ("agno-3.1.10", _AGNO, 3, "{'cities': ['Zürich', 'Lima'], 'clock': {'hour': 12.0}}"),
}


@pytest.mark.parametrize("name", AGENTS)
def test_tool_has_the_same_effect_without_running(server: Server, name: str) -> None:
    environment_name, program, count, text = AGENTS[name]
    python = [str(environment(environment_name))]
    recording = record(server, program, python=python)
    assert (recording.returncode, recording.stdout.count("runs\n")) == (0, count), recording.stderr
    assert text in recording.stdout
    run = run_of(recording)
    GatewaySession(server, "", run).summary()
    again: Any = run_agent(server, ["rerun", run], program, python=python)
    assert (again.returncode, again.stdout) == (0, recording.stdout.replace("runs\n", "")), again.stderr
