"""An agent loop on Anthropic's client: sync or async, streamed or not."""

import asyncio
from typing import Any

import anthropic
from desk import HOW, QUESTION, SCHEMA, TOOLS


async def ask(client: Any, options: dict[str, Any]) -> Any:
    if HOW == "stream":
        with client.messages.stream(**options) as stream:
            return stream.get_final_message()
    if HOW == "async stream":
        async with client.messages.stream(**options) as stream:
            return await stream.get_final_message()
    return await client.messages.create(**options) if HOW == "async" else client.messages.create(**options)


async def converse(client: Any) -> str:
    tools = [{"name": name, "input_schema": SCHEMA} for name in TOOLS]
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    while True:
        options: dict[str, Any] = {"model": "claude-opus-5", "max_tokens": 500, "system": "Be brief."}
        options["extra_body"] = {"temperature": 0.2}
        message = await ask(client, {**options, "messages": messages, "tools": tools})
        messages.append({"role": "assistant", "content": [block.model_dump() for block in message.content]})
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            return str(message.content[0].text)
        results = [{"type": "tool_result", "tool_use_id": call.id} for call in calls]
        outputs = [TOOLS[call.name](**call.input) for call in calls]
        content = [{**result, "content": output} for result, output in zip(results, outputs, strict=True)]
        messages.append({"role": "user", "content": content})


async def main() -> None:
    client = anthropic.AsyncAnthropic() if "async" in HOW else anthropic.Anthropic()
    try:
        print(await converse(client))
    except anthropic.BadRequestError as error:
        print(type(error).__name__)


asyncio.run(main())
