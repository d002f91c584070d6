"""The loop of Anthropic's client, which calls the functions: sync or async, streamed or not."""

import asyncio
from typing import Any

import anthropic
from desk import HOW, QUESTION, get_time, get_weather

OPTIONS: dict[str, Any] = {"model": "claude-opus-5", "max_tokens": 500, "system": "Be brief."}
OPTIONS |= {"messages": [{"role": "user", "content": QUESTION}], "stream": "stream" in HOW}
if anthropic.__version__ >= "2":
    # The model server stores no conversation.
    OPTIONS["thread"] = False


def converse() -> Any:
    tools = [anthropic.beta_tool(function) for function in (get_weather, get_time)]
    runner = anthropic.Anthropic().beta.messages.tool_runner(tools=tools, **OPTIONS)
    for turn in runner:
        message = turn.get_final_message() if OPTIONS["stream"] else turn
    return message


async def converse_async() -> Any:
    async def weather(city: str) -> str:
        return get_weather(city)

    async def time(city: str) -> str:
        return get_time(city)

    tools = [anthropic.beta_async_tool(weather, name="get_weather"), anthropic.beta_async_tool(time, name="get_time")]
    runner = anthropic.AsyncAnthropic().beta.messages.tool_runner(tools=tools, **OPTIONS)
    async for turn in runner:
        message = await turn.get_final_message() if OPTIONS["stream"] else turn
    return message


print((asyncio.run(converse_async()) if "async" in HOW else converse()).content[0].text)
