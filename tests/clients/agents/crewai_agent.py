"""A crew of one agent on OpenAI's model: streamed or not, or on a model that requests tools in its `text`."""

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool
from desk import HOW, QUESTION, get_time, get_weather

llm = LLM("o1" if HOW == "text" else "gpt-4o-mini", stream=HOW == "stream")
tools = [tool("get_weather")(get_weather), tool("get_time")(get_time)]
agent = Agent(role="desk", goal="help", backstory="brief", tools=tools, llm=llm)
task = Task(description=QUESTION, expected_output="a sentence", agent=agent)
try:
    print(Crew(name="crew", agents=[agent], tasks=[task]).kickoff().raw)
except Exception as error:
    print(type(error).__name__, error)
