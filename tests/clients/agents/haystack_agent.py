"""A Haystack agent on OpenAI's model."""

from desk import QUESTION, get_time, get_weather
from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import create_tool_from_function

agent = Agent(
    chat_generator=OpenAIChatGenerator(model="gpt-4o-mini"),
    tools=[create_tool_from_function(get_weather), create_tool_from_function(get_time)],
    system_prompt="Be brief.",
)
print(agent.run(messages=[ChatMessage.from_user(QUESTION)])["last_message"].text)
