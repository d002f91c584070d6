"""A LangChain agent on a model of OpenAI, Anthropic or Ollama: sync or async, streamed or not."""

import asyncio
import sys
from typing import Any

from desk import HOW, QUESTION, get_time, get_weather
from langchain.agents import create_agent

if "anthropic" in sys.argv:
    from langchain_anthropic import ChatAnthropic

    model: Any = ChatAnthropic(model="claude-opus-5")
elif "ollama" in sys.argv:
    from langchain_ollama import ChatOllama

    model = ChatOllama(model="qwen3", temperature=0.2)
else:
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model="gpt-4o-mini", use_responses_api="responses" in sys.argv, stream_usage=True)

agent = create_agent(model, [get_weather, get_time], system_prompt="Be brief.", name="desk")
question: Any = {"messages": [("user", QUESTION)]}


async def main() -> Any:
    if HOW == "async":
        return (await agent.ainvoke(question))["messages"][-1].content
    if HOW == "async stream":
        return [part async for part in agent.astream(question, stream_mode="values")][-1]["messages"][-1].content
    if HOW == "stream":
        return list(agent.stream(question, stream_mode="values"))[-1]["messages"][-1].content
    return agent.invoke(question)["messages"][-1].content


try:
    print(asyncio.run(main()))
except Exception as error:
    print(type(error).__name__, error)
