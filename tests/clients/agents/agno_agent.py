"""An Agno agent on OpenAI's model, streamed or not."""

from agno.agent import Agent
from agno.models.openai import OpenAIChat
from desk import HOW, QUESTION, get_time, get_weather

agent = Agent(
    name="desk",
    model=OpenAIChat("gpt-4o-mini"),
    tools=[get_weather, get_time],
    instructions="Be brief.",
    telemetry=False,
)
if HOW == "stream":
    print("".join(event.content or "" for event in agent.run(QUESTION, stream=True) if hasattr(event, "content")))
else:
    print(agent.run(QUESTION).content)
