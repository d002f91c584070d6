"""A LangGraph agent that only the environment traces with LangSmith."""

import uuid

from langchain_core.tools import tool
from langchain_core.tracers.langchain import wait_for_all_tracers
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from weather import QUESTION


@tool
def get_weather(city: str) -> str:
    """Get the weather of a city"""
    return "rainy, 57F"


model = ChatOpenAI(model="gpt-4o-mini", temperature=0.2, seed=7, max_tokens=100, max_retries=0).bind_tools(
    [get_weather]
)
graph = StateGraph(MessagesState)
graph.add_node("agent", lambda state: {"messages": [model.invoke(state["messages"])]})
graph.add_node("tools", ToolNode([get_weather]))
graph.add_edge(START, "agent")
graph.add_conditional_edges("agent", tools_condition)
graph.add_edge("tools", "agent")
run_id = uuid.uuid4()
messages = [("system", "You are helpful."), ("user", QUESTION)]
graph.compile().invoke({"messages": messages}, {"run_id": run_id})
wait_for_all_tracers()
print(run_id)
