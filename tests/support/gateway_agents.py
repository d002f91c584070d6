"""Agents that know nothing of Forkpoint: two turns of tool calls in each API, plain or streamed.

Importing a client library takes ten times as long as everything else that these agents do, so only `CLIENT_AGENTS` use
one. The others send the same requests on their own.
"""

from typing import Final

CLIENT_AGENTS: Final = {
    "chat": """
import json, openai, sys
stream = sys.argv[1] == "stream"
client = openai.OpenAI()
tools = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
         for name in ("get_weather", "get_time")]
messages = [{"role": "user", "content": "Weather and time?"}]
while True:
    options = {"model": "m1", "messages": messages, "tools": tools}
    if stream:
        with client.chat.completions.stream(**options, stream_options={"include_usage": True}) as events:
            message = events.get_final_completion().choices[0].message
    else:
        message = client.chat.completions.create(**options).choices[0].message
    messages.append(json.loads(message.model_dump_json(exclude_none=True, exclude={"parsed"})))
    if not message.tool_calls:
        break
    messages += [{"role": "tool", "tool_call_id": call.id, "content": "fine"} for call in message.tool_calls]
print(message.content)
""",
    "responses": """
import openai, sys
client = openai.OpenAI()
tools = [{"type": "function", "name": name, "parameters": {"type": "object"}, "strict": False}
         for name in ("get_weather", "get_time")]
items = [{"role": "user", "content": "Weather and time?"}]
while True:
    options = {"model": "m1", "input": items, "tools": tools}
    if sys.argv[1] == "stream":
        with client.responses.stream(**options) as events:
            response = events.get_final_response()
    else:
        response = client.responses.create(**options)
    calls = [item for item in response.output if item.type == "function_call"]
    if not calls:
        break
    for call in calls:
        items.append({"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments})
    items += [{"type": "function_call_output", "call_id": call.call_id, "output": "fine"} for call in calls]
print(response.output_text)
""",
    "anthropic": """
import anthropic, sys
client = anthropic.Anthropic()
tools = [{"name": name, "input_schema": {"type": "object"}} for name in ("get_weather", "get_time")]
messages = [{"role": "user", "content": "Weather and time?"}]
while True:
    options = {"model": "m1", "max_tokens": 100, "messages": messages, "tools": tools}
    if sys.argv[1] == "stream":
        with client.messages.stream(**options) as events:
            message = events.get_final_message()
    else:
        message = client.messages.create(**options)
    messages.append({"role": "assistant", "content": [
        {"type": block.type, "text": block.text} if block.type == "text"
        else {"type": block.type, "id": block.id, "name": block.name, "input": block.input}
        for block in message.content]})
    calls = [block for block in message.content if block.type == "tool_use"]
    if not calls:
        break
    messages.append({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": call.id, "content": "fine"} for call in calls]})
print(message.content[0].text)
""",
}

# Google's client, in an environment of its own.
GENAI_AGENT: Final = """
import sys
from google import genai
from google.genai import types

def get_weather(city: str) -> str:
    return "fine"

def get_time(city: str) -> str:
    return "fine"

client = genai.Client()
config = types.GenerateContentConfig(tools=[get_weather, get_time])
options = {"model": "gemini-2.5-flash", "contents": "Weather and time?", "config": config}
if sys.argv[1] == "stream":
    print("".join(part.text or "" for part in client.models.generate_content_stream(**options)))
else:
    print(client.models.generate_content(**options).text)
"""

# Functions that send a request and return the answer; of a stream, its events.
REQUESTS: Final = """
import json, os, sys, urllib.error, urllib.request

def fetch(address, body, **headers):
    headers = {"content-type": "application/json", **headers}
    request = urllib.request.Request(address, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request) as response:
            if not body.get("stream"):
                return json.load(response)
            return [json.loads(line[6:]) for line in response if line.startswith(b"data: {")]
    except urllib.error.HTTPError as error:
        sys.exit(f"HTTP {error.code}: {json.load(error)['error']['message']}")

def ask_openai(path, body):
    key = os.environ["OPENAI_API_KEY"]
    return fetch(f"{os.environ['OPENAI_BASE_URL']}/{path}", body, authorization=f"Bearer {key}")

def ask_anthropic(path, body):
    headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01"}
    return fetch(f"{os.environ['ANTHROPIC_BASE_URL']}/v1/{path}", body, **headers)
"""

# Nothing intercepts the tools of `AGENTS`: their calls are made up in the loop.
PLAIN_TOOLS: Final = ["get_weather", "get_time"]
ALLOW_TOOLS: Final = tuple(word for name in PLAIN_TOOLS for word in ("--allow-tool", name))

AGENTS: Final = {
    "chat": REQUESTS
    + """
def joined(events):
    message = {"role": "assistant", "content": "", "tool_calls": []}
    calls = message["tool_calls"]
    for event in events:
        for choice in event["choices"]:
            message["content"] += choice["delta"].get("content") or ""
            for delta in choice["delta"].get("tool_calls", []):
                if delta["index"] == len(calls):
                    # The client's own answers have the index, too.
                    calls.append({**delta, "function": {**delta["function"]}})
                else:
                    calls[delta["index"]]["function"]["arguments"] += delta["function"]["arguments"]
    return {name: value for name, value in message.items() if value}

stream = {"stream": True, "stream_options": {"include_usage": True}} if sys.argv[1] == "stream" else {}
tools = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
         for name in ("get_weather", "get_time")]
messages = [{"role": "user", "content": "Weather and time?"}]
while True:
    answer = ask_openai("chat/completions", {"model": "m1", "messages": messages, "tools": tools, **stream})
    message = joined(answer) if stream else answer["choices"][0]["message"]
    messages.append({name: value for name, value in message.items() if value is not None})
    if not message.get("tool_calls"):
        break
    messages += [{"role": "tool", "tool_call_id": call["id"], "content": "fine"} for call in message["tool_calls"]]
print(message["content"])
""",
    "responses": REQUESTS
    + """
stream = {"stream": True} if sys.argv[1] == "stream" else {}
tools = [{"type": "function", "name": name, "parameters": {"type": "object"}, "strict": False}
         for name in ("get_weather", "get_time")]
items = [{"role": "user", "content": "Weather and time?"}]
while True:
    answer = ask_openai("responses", {"model": "m1", "input": items, "tools": tools, **stream})
    output = (answer[-1]["response"] if stream else answer)["output"]
    calls = [item for item in output if item["type"] == "function_call"]
    if not calls:
        break
    items += [{name: call[name] for name in ("type", "call_id", "name", "arguments")} for call in calls]
    items += [{"type": "function_call_output", "call_id": call["call_id"], "output": "fine"} for call in calls]
print(output[0]["content"][0]["text"])
""",
    "anthropic": REQUESTS
    + """
def joined(events):
    blocks, texts = [], []
    for event in events:
        if event["type"] == "content_block_start":
            blocks.append(event["content_block"])
            texts.append("")
        if event["type"] == "content_block_delta":
            texts[-1] += event["delta"].get("partial_json") or event["delta"].get("text") or ""
    return [{**block, **({"text": text} if block["type"] == "text" else {"input": json.loads(text)})}
            for block, text in zip(blocks, texts)]

stream = {"stream": True} if sys.argv[1] == "stream" else {}
tools = [{"name": name, "input_schema": {"type": "object"}} for name in ("get_weather", "get_time")]
messages = [{"role": "user", "content": "Weather and time?"}]
while True:
    body = {"model": "m1", "max_tokens": 100, "messages": messages, "tools": tools, **stream}
    answer = ask_anthropic("messages", body)
    content = joined(answer) if stream else answer["content"]
    messages.append({"role": "assistant", "content": content})
    calls = [block for block in content if block["type"] == "tool_use"]
    if not calls:
        break
    messages.append({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": call["id"], "content": "fine"} for call in calls]})
print(content[0]["text"])
""",
}

# Embeds a text as often as it is asked to and counts tokens before it asks a model.
SEARCH_AGENT: Final = (
    REQUESTS
    + """
for _ in range(int(sys.argv[2])):
    body = {"model": "e1", "input": sys.argv[1], "encoding_format": "base64"}
    vector = ask_openai("embeddings", body)["data"][0]["embedding"]
messages = [{"role": "user", "content": "How many?"}]
count = ask_anthropic("messages/count_tokens", {"model": "m1", "messages": messages})["input_tokens"]
messages = [{"role": "user", "content": f"{vector} {count}"}]
print(ask_openai("chat/completions", {"model": "m1", "messages": messages})["choices"][0]["message"]["content"])
"""
)

# A plain loop whose tools the SDK knows. Each execution of one adds a line to the file that the first argument names.
_TOOL_LOOP: Final = """
import forkpoint, json, sys

class NoClock(Exception):
    def __init__(self, city, reason):
        super().__init__(f"{city}: {reason}")

def note(name):
    with open(sys.argv[1], "a") as file:
        file.write(name + "\\n")

@forkpoint.tool
def get_weather(city: str) -> dict:
    note("get_weather")
    return {"degrees": 21, "city": city}

@forkpoint.tool
def get_time(**arguments: str) -> str:
    note("get_time")
    raise NoClock(arguments["city"], "no clock")

functions = {"get_weather": get_weather, "get_time": get_time}
tools = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in functions]
text = f"Weather and time? {forkpoint.now():%c} {forkpoint.random()} {forkpoint.uuid()}"
messages = [{"role": "user", "content": text}]
while True:
    message = answer(model="m1", messages=messages, tools=tools)
    messages.append(message)
    for call in message.get("tool_calls", []):
        try:
            content = json.dumps(functions[call["function"]["name"]](**json.loads(call["function"]["arguments"])))
        except NoClock as error:
            content = str(error)
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
    if not message.get("tool_calls"):
        break
print(message["content"], forkpoint.is_replay())
"""
TOOL_AGENT: Final = (
    REQUESTS
    + """
def answer(**body):
    message = ask_openai("chat/completions", body)["choices"][0]["message"]
    return {name: value for name, value in message.items() if value is not None}
"""
    + _TOOL_LOOP
)
# The SDK records calls of a client library without the gateway.
TOOL_CLIENT_AGENT: Final = f"""
import json, openai
client = openai.OpenAI()
def answer(**body):
    message = client.chat.completions.create(**body).choices[0].message
    return json.loads(message.model_dump_json(exclude_none=True))
{_TOOL_LOOP}"""

# Two tools at once that ask a model. Each execution adds a line to the file that the first argument names.
SUBAGENTS: Final = """
import sys, threading, forkpoint, openai
from concurrent.futures import ThreadPoolExecutor
client = openai.OpenAI()
meeting = threading.Barrier(2)

@forkpoint.tool
def research(topic: str) -> str:
    with open(sys.argv[1], "a") as file:
        file.write("research\\n")
    meeting.wait(30)
    answer = client.chat.completions.create(model="m1", messages=[{"role": "user", "content": topic}])
    meeting.wait(30)
    return answer.choices[0].message.content

with ThreadPoolExecutor(2) as pool:
    print(*pool.map(research, ["weather", "time"]))
"""

# A loop on Gemini, whose requests have no ids of calls. The SDK knows its tool if the first argument says so.
GEMINI_AGENT: Final = """
import forkpoint, json, os, sys, urllib.request

def get_time(city: str) -> str:
    return f"noon in {city}"

clock = forkpoint.tool(get_time) if sys.argv[1] == "known" else get_time
address = os.environ["GOOGLE_GEMINI_BASE_URL"] + "/v1beta/models/gemini-2.5-flash:generateContent"
tools = [{"functionDeclarations": [{"name": "get_time"}, {"name": "get_weather"}]}]
contents = [{"role": "user", "parts": [{"text": "Time?"}]}]
while True:
    body = json.dumps({"contents": contents, "tools": tools}).encode()
    request = urllib.request.Request(address, body, {"content-type": "application/json"})
    with urllib.request.urlopen(request) as response:
        content = json.load(response)["candidates"][0]["content"]
    calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
    if not calls:
        break
    results = [clock(**call["args"]) if call["name"] == "get_time" else "fine" for call in calls]
    contents += [content, {"role": "user", "parts": [
        {"functionResponse": {"name": call["name"], "response": {"result": result}}}
        for call, result in zip(calls, results)]}]
print(content["parts"][0]["text"])
"""

# Searches a handbook that the SDK knows, and asks a model about the documents. Each search adds a line to the file that
# the first argument names.
HANDBOOK_AGENT = (
    REQUESTS
    + """
import forkpoint

@forkpoint.recorder.retrieval("handbook")
def search(query: str, top_k: int = 2) -> list:
    with open(sys.argv[1], "a") as file:
        file.write(f"{query} {top_k}\\n")
    return [{"id": f"d{number}", "content": f"{query} {number}"} for number in range(1, top_k + 1)]

text = "; ".join(document["content"] for document in search("refunds"))
messages = [{"role": "user", "content": text}]
print(ask_openai("chat/completions", {"model": "m1", "messages": messages})["choices"][0]["message"]["content"])
"""
)
