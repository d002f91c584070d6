"""An agent loop on LiteLLM, with a model of OpenAI or Anthropic: sync or async, streamed or not."""

import asyncio
import json
import sys
from typing import Any

import litellm
from desk import HOW, QUESTION, SCHEMA, TOOLS

MODEL = sys.argv[2]
STREAM: Any = {"stream": True, "stream_options": {"include_usage": True}}


async def ask(options: dict[str, Any]) -> Any:
    if HOW == "async":
        return await litellm.acompletion(**options)
    if HOW == "async stream":
        chunks = [chunk async for chunk in await litellm.acompletion(**options, **STREAM)]
        return litellm.stream_chunk_builder(chunks)
    if HOW == "stream":
        return litellm.stream_chunk_builder(list(litellm.completion(**options, **STREAM)))
    return litellm.completion(**options)


async def main() -> str:
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    tools = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in TOOLS]
    while True:
        answer = await ask({"model": MODEL, "messages": messages, "tools": tools, "max_tokens": 500})
        message = answer.choices[0].message.model_dump(exclude_none=True)
        messages.append({key: message[key] for key in ("role", "content", "tool_calls") if key in message})
        if not message.get("tool_calls"):
            return str(message["content"])
        for call in message["tool_calls"]:
            output = TOOLS[call["function"]["name"]](**json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": output})


try:
    print(asyncio.run(main()))
except Exception as error:
    print(type(error).__name__, error)
