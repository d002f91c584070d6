"""An agent loop of forty lines on an HTTP client alone."""

import json
import os

import httpx
from desk import QUESTION, SCHEMA, TOOLS

ADDRESS = f"{os.environ['OPENAI_BASE_URL']}/chat/completions"
HEADERS = {"authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
tools = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in TOOLS]
messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]


def ask() -> dict:
    body = {"model": "gpt-4o-mini", "messages": messages, "tools": tools, "temperature": 0.2}
    response = httpx.post(ADDRESS, headers=HEADERS, json=body, timeout=60)
    if response.is_error:
        raise SystemExit(f"{response.status_code} {response.text}")
    return response.json()["choices"][0]["message"]


while (answer := ask()).get("tool_calls"):
    messages.append(answer)
    for call in answer["tool_calls"]:
        output = TOOLS[call["function"]["name"]](**json.loads(call["function"]["arguments"]))
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": output})
print(answer["content"])
