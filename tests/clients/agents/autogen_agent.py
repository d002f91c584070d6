"""An AutoGen agent on OpenAI's model, streamed or not."""

import asyncio

from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient
from desk import HOW, QUESTION, get_time, get_weather

agent = AssistantAgent(
    "desk",
    OpenAIChatCompletionClient(model="gpt-4o-mini"),
    tools=[get_weather, get_time],
    system_message="Be brief.",
    max_tool_iterations=5,
    model_client_stream=HOW == "stream",
)
print(asyncio.run(agent.run(task=QUESTION)).messages[-1].content)
