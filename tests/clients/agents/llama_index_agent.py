"""A LlamaIndex agent on OpenAI's model, streamed or not."""

import asyncio

from desk import HOW, QUESTION, get_time, get_weather
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai import OpenAI

agent = FunctionAgent(
    name="desk",
    tools=[get_weather, get_time],
    llm=OpenAI("gpt-4o-mini"),
    system_prompt="Be brief.",
    streaming=HOW == "stream",
)


async def main() -> None:
    print(await agent.run(QUESTION))


asyncio.run(main())
