"""A smolagents agent on OpenAI's model, streamed or not."""

from desk import HOW, QUESTION, get_time, get_weather
from smolagents import OpenAIServerModel, ToolCallingAgent, tool

agent = ToolCallingAgent(
    name="desk",
    tools=[tool(get_weather), tool(get_time)],
    model=OpenAIServerModel("gpt-4o-mini"),
    verbosity_level=0,
    stream_outputs=HOW == "stream",
)
try:
    print(list(agent.run(QUESTION, stream=True))[-1].output if HOW == "stream" else agent.run(QUESTION))
except Exception as error:
    print(type(error).__name__, error)
