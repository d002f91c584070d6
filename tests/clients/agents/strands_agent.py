"""A Strands agent on OpenAI's model."""

from desk import QUESTION, get_time, get_weather
from strands import Agent, tool
from strands.models.openai import OpenAIModel

agent = Agent(
    name="desk",
    model=OpenAIModel(model_id="gpt-4o-mini"),
    system_prompt="Be brief.",
    tools=[tool(get_weather), tool(get_time)],
    callback_handler=None,
)
print(agent(QUESTION))
