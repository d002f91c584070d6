"""Agents that know nothing of Forkpoint and get their tools from an MCP server, with either generation of its client.

They look up the orders that they are given, and tell a model what they found.
"""

from collections.abc import Sequence

_LOOP = """
import asyncio, importlib, json, os, sys, urllib.request
from mcp import ClientSession

def ask(results):
    body = {"model": "m1", "messages": [{"role": "user", "content": json.dumps(results)}]}
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(),
        {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]})
    with urllib.request.urlopen(request) as response:
        return json.load(response)["choices"][0]["message"]["content"]

async def work(read, write):
    async with ClientSession(read, write) as session:
        await session.initialize()
        results = [sorted(tool.name for tool in (await session.list_tools()).tools)]
        for order in sys.argv[1:]:
            try:
                result = await session.call_tool("lookup", {"order_id": order})
                results.append(result.content[0].text)
            except Exception as error:
                results.append(f"{type(error).__name__}: {error}")
        ask(results)
        print(json.dumps(results))
"""
# What a server may ask this client, and what it says meanwhile.
_TALK = """
types = importlib.import_module("mcp.types")

async def sample(context, parameters):
    answer = await asyncio.to_thread(ask, os.environ.get("PREFIX", "") + parameters.messages[0].content.text)
    text = types.TextContent(type="text", text=answer)
    return types.CreateMessageResult(role="assistant", content=text, model="m1")

async def elicit(context, parameters):
    return types.ElicitResult(action=os.environ.get("CONSENT", "decline"))

async def list_roots(context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///desk")])

async def note(progress, total, message):
    print("progress:", progress, total, message, flush=True)

async def log(entry):
    print("log:", entry.data, flush=True)

async def work("""


def talking(agent: str) -> str:
    """Return an agent that answers what its server asks, with its model's help, and prints what it says."""
    callbacks = "sampling_callback=sample, elicitation_callback=elicit, list_roots_callback=list_roots"
    session = f"ClientSession(read, write, {callbacks}, logging_callback=log)"
    agent = agent.replace("\nasync def work(", _TALK).replace("ClientSession(read, write)", session)
    call = '"lookup", {"order_id": order}'
    return agent.replace(call, f"{call}, progress_callback=note")


HTTP_AGENT = f"""{_LOOP}
async def main():
    http = importlib.import_module("mcp.client.streamable_http")
    connect = getattr(http, "streamable_http_client", None) or http.streamablehttp_client
    async with connect(os.environ["FORKPOINT_GATEWAY"] + "/mcp/desk") as streams:
        await work(*streams[:2])

asyncio.run(main())
"""
_STDIO_AGENT = f"""{_LOOP}
from mcp import StdioServerParameters, stdio_client

async def main():
    command, *arguments = COMMAND
    # Only a few variables reach the server.
    async with stdio_client(StdioServerParameters(command=command, args=arguments)) as streams:
        await work(*streams)

asyncio.run(main())
"""


def stdio_agent(command: Sequence[str]) -> str:
    """Return an agent whose server is a command."""
    return _STDIO_AGENT.replace("COMMAND", repr([*command]))
