"""Tools of the frameworks themselves, handoffs and structured output: only a function of the user needs consent."""

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
_HANDOFF = """
import sys
from agents import Agent, Runner, handoff
def note(context):
    print("a function of the user")
billing = Agent(name="billing", model="m1")
target = billing if sys.argv[1] == "plain" else handoff(billing, on_handoff=note)
print(Runner.run_sync(Agent(name="triage", model="m1", handoffs=[target]), "A refund!").final_output)
"""
_OUTPUT = """
import sys
from pydantic import BaseModel
from pydantic_ai import Agent
class City(BaseModel):
    name: str
def save(name: str) -> str:
    print("a function of the user")
    return name
print(Agent("openai-chat:m1", output_type=City if sys.argv[1] == "plain" else save).run_sync("Where?").output)
"""
_AUTOGEN = """
import asyncio
from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient
async def main():
    client = OpenAIChatCompletionClient(model="gpt-4o-mini")
    result = await AssistantAgent("triage", model_client=client, handoffs=["billing"]).run(task="A refund!")
    print(result.messages[-1].content)
asyncio.run(main())
"""
_STRANDS = """
from pydantic import BaseModel
from strands import Agent
from strands.models.openai import OpenAIModel
class City(BaseModel):
    name: str
agent = Agent(model=OpenAIModel(model_id="m1"), callback_handler=None)
print(agent("Where?", structured_output_model=City).structured_output)
"""
_LLAMA_INDEX = """
from llama_index.core.program import FunctionCallingProgram
from llama_index.llms.openai import OpenAI
from pydantic import BaseModel
class City(BaseModel):
    name: str
llm = OpenAI("gpt-4o-mini")
print(FunctionCallingProgram.from_defaults(output_cls=City, prompt_template_str="Where?", llm=llm)())
"""
_LLAMA_INDEX_HANDOFF = """
import asyncio
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.llms.openai import OpenAI
def agent(name, **more):
    return FunctionAgent(name=name, description=name, llm=OpenAI("gpt-4o-mini"), streaming=False, **more)
async def main():
    team = [agent("triage", can_handoff_to=["billing"]), agent("billing", can_handoff_to=[])]
    print(await AgentWorkflow(agents=team, root_agent="triage").run("A refund!"))
asyncio.run(main())
"""
_AGNO_TEAM = """
from agno.agent import Agent
from agno.models.openai import OpenAIChat
from agno.team import Team
billing = Agent(name="billing", model=OpenAIChat("gpt-4o-mini"), telemetry=False)
team = Team(name="triage", members=[billing], model=OpenAIChat("gpt-4o-mini"), telemetry=False)
print(team.run("A refund!").content)
"""
# The environment, the agent, and the name of the framework's tool.
AGENTS: Final = {
    "OpenAI Agents SDK": ("agents-0.24", _HANDOFF, "transfer_to_billing"),
    "pydantic-ai": ("pydantic-ai-2.68", _OUTPUT, "final_result"),
    "AutoGen": ("autogen-0.7", _AUTOGEN, "transfer_to_billing"),
    "Strands Agents": ("strands-1.62", _STRANDS, "City"),
    "LlamaIndex": ("llama-index-0.14.25", _LLAMA_INDEX, "City"),
    "Agno, team": ("agno-3.1.10", _AGNO_TEAM, "delegate_task_to_member"),
    "LlamaIndex, handoff": ("llama-index-0.14.25", _LLAMA_INDEX_HANDOFF, "handoff"),
}
ARGUMENTS: Final = {
    "handoff": {"to_agent": "billing", "reason": "a refund"},
    "delegate_task_to_member": {"member_id": "billing", "task": "a refund"},
}


def respond(exchange: Exchange) -> None:
    """Call the only tool that is offered; answer once it was called."""
    body = exchange.body
    tools = body.get("tools") or []
    if exchange.path.endswith("/responses"):
        is_last = any(item.get("type") == "function_call_output" for item in body["input"])
        text: dict[str, Any] = {"type": "message", "id": "m1", "role": "assistant", "status": "completed"}
        text |= {"content": [{"type": "output_text", "text": "Refunded", "annotations": []}]}
        call = {"type": "function_call", "id": "f1", "call_id": "c1", "arguments": "{}", "status": "completed"}
        output = [text] if is_last else [{**call, "name": tools[0]["name"]}]
        facts = {"id": "r1", "object": "response", "created_at": 1, "model": "m1", "status": "completed", "tools": []}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        choice = {"tool_choice": "auto", "parallel_tool_calls": False}
        exchange.status(200, {**facts, **choice, "output": output, "usage": {**usage, **details}})
        return
    answer_chat(exchange, tools)


def answer_chat(exchange: Exchange, tools: list[Any]) -> None:
    body = exchange.body
    is_last = any(message["role"] == "tool" for message in body["messages"])
    message: dict[str, Any] = {"role": "assistant", "content": "Refunded"}
    if tools and not is_last:
        name = tools[0]["function"]["name"]
        arguments = ARGUMENTS.get(name, {"name": "Oslo"})
        function: dict[str, Any] = {"name": name, "arguments": json.dumps(arguments)}
        call = {"index": 0, "id": "c1", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    reason = "stop" if message["content"] else "tool_calls"
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    facts = {"id": "x", "created": 1, "model": "gpt-4o-mini", "usage": usage}
    if not body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": reason}
        exchange.status(200, {**facts, "object": "chat.completion", "choices": [choice]})
        return
    exchange.stream()
    choice = {"index": 0, "delta": message, "finish_reason": reason}
    exchange.send({**facts, "object": "chat.completion.chunk", "choices": [choice]})
    exchange.send("[DONE]")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with provider_server(respond) as provider:
        variables = {"FORKPOINT_QUIET_S": "1", "OPENAI_API_KEY": "key", "OPENAI_BASE_URL": f"{provider.base_url}/v1"}
        server = Server(tmp_path_factory.mktemp("server") / "home", "--no-demo", env=variables)
        server.start()
        yield server
        server.stop()


def record_run(server: Server, name: str, kind: str) -> tuple[str, str]:
    """Record an agent; return the run and what the agent printed."""
    environment_name, program, _ = AGENTS[name]
    result = record(server, program, kind, python=[str(environment(environment_name))])
    assert result.returncode == 0, result.stderr
    run = run_of(result)
    wait_until(lambda: HTTP.get(f"{server.url}/api/v1/runs/{run}").json().get("sealed"), 30)
    return run, result.stdout


@pytest.mark.parametrize("name", AGENTS)
def test_own_tool_of_a_framework_needs_no_consent(server: Server, name: str) -> None:
    run, printed_text = record_run(server, name, "plain")
    environment_name, program, tool = AGENTS[name]
    steps = HTTP.get(f"{server.url}/api/v1/runs/{run}/full-steps").json()["steps"]
    assert tool in [step["tool_name"] for step in steps]
    python = [str(environment(environment_name))]
    again = run_agent(server, ["rerun", run], program, "plain", python=python)
    assert (again.returncode, again.stdout) == (0, printed_text), again.stderr


@pytest.mark.parametrize("name", ["OpenAI Agents SDK", "pydantic-ai"])
def test_function_of_the_user_in_it_needs_consent(server: Server, name: str) -> None:
    run, printed_text = record_run(server, name, "code")
    assert "a function of the user" in printed_text
    refusal: Any = HTTP.post(f"{server.url}/api/v1/reruns", json={"run": run, "compare": True})
    assert (refusal.status_code, refusal.json()["code"]) == (409, "consent_required")
    assert f"--allow-tool {AGENTS[name][2]}" in refusal.json()["detail"]
