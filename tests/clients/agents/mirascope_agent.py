"""A Mirascope loop on OpenAI's model."""

from desk import QUESTION, get_time, get_weather
from mirascope import llm


@llm.call("openai/gpt-4o-mini:completions", tools=[llm.tool(get_weather), llm.tool(get_time)])
def ask(question: str) -> str:
    return question


response = ask(QUESTION)
while response.tool_calls:
    response = response.resume(response.execute_tools())
print(response.text())
