"""An agent of OpenAI's Agents SDK: chat or responses, streamed or not."""

import asyncio
import sys

from agents import Agent, Runner, function_tool, set_default_openai_api, set_trace_processors
from desk import HOW, QUESTION, get_time, get_weather

if "chat" in sys.argv:
    set_default_openai_api("chat_completions")
if "alone" in sys.argv:
    set_trace_processors([])

agent = Agent(
    name="desk",
    instructions="Be brief.",
    tools=[function_tool(get_weather), function_tool(get_time)],
    model="gpt-4o-mini",
)


async def main() -> str:
    if "stream" not in HOW:
        return str((await Runner.run(agent, QUESTION)).final_output)
    result = Runner.run_streamed(agent, QUESTION)
    async for _ in result.stream_events():
        pass
    return str(result.final_output)


try:
    print(asyncio.run(main()))
except Exception as error:
    print(type(error).__name__, error)
