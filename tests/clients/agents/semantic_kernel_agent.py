"""A Semantic Kernel agent on OpenAI's model."""

import asyncio

from desk import QUESTION, get_time, get_weather
from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.functions import KernelPlugin, kernel_function

desk = KernelPlugin.from_object("desk", {"weather": kernel_function(get_weather), "time": kernel_function(get_time)})
agent = ChatCompletionAgent(
    service=OpenAIChatCompletion(ai_model_id="gpt-4o-mini"), name="desk", instructions="Be brief.", plugins=[desk]
)
print(asyncio.run(agent.get_response(messages=QUESTION)))
