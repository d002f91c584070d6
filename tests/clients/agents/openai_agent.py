"""An agent loop on OpenAI's client: `chat` or `responses`, sync or async, streamed or not, or raw."""

import asyncio
import json
import sys
from typing import Any

import openai
from desk import HOW, QUESTION, SCHEMA, TOOLS

API = sys.argv[2]
IS_ASYNC, IS_STREAM = "async" in HOW, "stream" in HOW


async def settle(value: Any) -> Any:
    return await value if hasattr(value, "__await__") else value


async def read(stream: Any) -> list[Any]:
    return [event async for event in stream] if IS_ASYNC else list(stream)


async def chat(client: Any) -> str:
    messages: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]
    tools = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in TOOLS]
    options: dict[str, Any] = {"model": "gpt-4o-mini", "tools": tools, "temperature": 0.2, "seed": 7}
    while True:
        if IS_STREAM:
            extra = {"stream": True, "stream_options": {"include_usage": True}}
            chunks = await read(await settle(client.chat.completions.create(messages=messages, **options, **extra)))
            message = joined([choice.delta for chunk in chunks for choice in chunk.choices])
        elif HOW == "raw":
            raw = client.chat.completions.with_raw_response.create(messages=messages, **options)
            message = raw.parse().choices[0].message.model_dump(exclude_none=True)
        else:
            completion = await settle(client.chat.completions.create(messages=messages, **options))
            message = completion.choices[0].message.model_dump(exclude_none=True)
        messages.append(message)
        if not message.get("tool_calls"):
            return str(message["content"])
        for call in message["tool_calls"]:
            output = TOOLS[call["function"]["name"]](**json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": output})


def joined(deltas: list[Any]) -> dict[str, Any]:
    text, calls = "", {}
    for delta in deltas:
        text += delta.content or ""
        for piece in delta.tool_calls or ():
            function = {"name": piece.function.name, "arguments": ""}
            call: Any = calls.setdefault(piece.index, {"id": piece.id, "type": "function", "function": function})
            call["function"]["arguments"] += piece.function.arguments or ""
    return {"role": "assistant", "content": text or None, **({"tool_calls": list(calls.values())} if calls else {})}


async def responses(client: Any) -> str:
    items: list[Any] = [{"role": "user", "content": QUESTION}]
    tools = [{"type": "function", "name": name, "parameters": SCHEMA} for name in TOOLS]
    while True:
        options: dict[str, Any] = {"model": "gpt-4o-mini", "input": items, "instructions": "Be brief.", "tools": tools}
        if IS_STREAM:
            events = await read(await settle(client.responses.create(**options, stream=True)))
            response = events[-1].response
        else:
            response = await settle(client.responses.create(**options))
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            return str(response.output_text)
        items += [item.model_dump(exclude_none=True) for item in response.output]
        for call in calls:
            output = TOOLS[call.name](**json.loads(call.arguments))
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": output})


async def main() -> None:
    client = openai.AsyncOpenAI() if IS_ASYNC else openai.OpenAI()
    try:
        print(await (chat if API == "chat" else responses)(client))
    except openai.BadRequestError as error:
        print(type(error).__name__)


asyncio.run(main())
