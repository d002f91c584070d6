"""An agent of Microsoft's Agent Framework on OpenAI's model."""

import asyncio

from agent_framework import Agent
from agent_framework.openai import OpenAIChatCompletionClient
from desk import QUESTION, get_time, get_weather

agent = Agent(
    client=OpenAIChatCompletionClient(model="gpt-4o-mini"),
    name="desk",
    instructions="Be brief.",
    tools=[get_weather, get_time],
)
print(asyncio.run(agent.run(QUESTION)).text)
