"""A pydantic-ai agent on OpenAI's or Anthropic's model, streamed or not."""

import asyncio
import sys

from desk import HOW, QUESTION, get_time, get_weather
from pydantic_ai import Agent

MODEL = "anthropic:claude-opus-5" if "anthropic" in sys.argv else "openai-chat:gpt-4o-mini"
desk = Agent(MODEL, name="desk", instructions="Be brief.", tools=[get_weather, get_time])


async def stream() -> str:
    async with desk.run_stream(QUESTION) as run:
        return str(await run.get_output())


try:
    print(asyncio.run(stream()) if HOW == "stream" else desk.run_sync(QUESTION).output)
except Exception as error:
    print(type(error).__name__, error)
