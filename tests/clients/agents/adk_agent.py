"""An agent of Google's Agent Development Kit."""

import asyncio

from desk import QUESTION, get_time, get_weather
from google.adk.agents import LlmAgent
from google.adk.runners import InMemoryRunner

agent = LlmAgent(name="desk", model="gemini-2.5-flash", instruction="Be brief.", tools=[get_weather, get_time])


async def main() -> None:
    events = await InMemoryRunner(agent=agent).run_debug(QUESTION, quiet=True)
    print(events[-1].content.parts[0].text)


asyncio.run(main())
