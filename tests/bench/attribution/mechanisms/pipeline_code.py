"""The code of the six pipelines."""

import re

from tests.bench.attribution.mechanisms.running import Runtime, result_text
from tests.bench.attribution.mechanisms.settings import system, user
from traces.core.json_types import JSONObject, JSONValue


def _chat(runtime: Runtime, node: str, tools: list[JSONValue], turns: int = 9) -> str:
    """Run an agent loop: call the model and its requested tools until it answers with text."""
    messages: list[JSONValue] = [_system(runtime, node), {"role": "user", "content": user(runtime.settings)}]
    for _ in range(turns):
        message = runtime.model(node, messages, tools)
        calls = message.get("tool_calls")
        if not isinstance(calls, list):
            return _content(message)
        messages = [*messages, message]
        for call in calls:
            assert isinstance(call, dict)
            arguments = call["arguments"]
            assert isinstance(arguments, dict)
            result = runtime.tool(str(call["name"]), arguments, str(call["id"]))
            messages.append({"role": "tool", "content": result_text(result), "tool_call_id": call["id"]})
    return "The agent went round in circles."


def _call_model(runtime: Runtime, node: str, *texts: str) -> str:
    """Call a node that has no tools."""
    messages: list[JSONValue] = [_system(runtime, node)]
    messages += [{"role": "user", "content": text} for text in texts]
    return _content(runtime.model(node, messages))


def _system(runtime: Runtime, node: str) -> JSONObject:
    return {"role": "system", "content": system(runtime.settings, node)}


def _content(message: JSONObject) -> str:
    return str(message.get("content") or "")


def answer_from_documents(runtime: Runtime) -> str:
    documents = runtime.retrieve("search", "within how many days can I send something back", 4)
    return _call_model(runtime, "answerer", user(runtime.settings), "Documents:\n" + "\n".join(documents))


def run_order_desk(runtime: Runtime) -> str:
    names = ("get_order", "get_policy", "issue_refund", "send_replacement", "escalate")
    return _chat(runtime, "desk", [{"name": name} for name in names])


def run_crew(runtime: Runtime) -> str:
    regions = re.findall(r"\b(north|south|west)\b", user(runtime.settings)) or ["north"]
    figures = [runtime.tool("load_figures", {"region": region}) for region in regions]
    plan = _call_model(runtime, "planner", user(runtime.settings))
    table = "\n".join(result_text(row) for row in figures)
    reports = [
        _call_model(runtime, "worker", f"{plan}\nFigures:\n{table}\nDo item {number}.")
        for number in range(1, len(regions) + 1)
    ]
    return _call_model(runtime, "critic", "\n".join(reports))


def map_reduce(runtime: Runtime) -> str:
    chunks = runtime.retrieve("load_report", "incidents of the team", 4)
    counts = [
        _call_model(runtime, "mapper", f"<{number}>{chunk}</{number}>\nDo item {number}.")
        for number, chunk in enumerate(chunks, 1)
    ]
    return _call_model(runtime, "reducer", "\n".join(counts))


def query_with_retries(runtime: Runtime) -> str:
    return _chat(runtime, "analyst", [{"name": "query"}])


def write_guarded_offer(runtime: Runtime) -> str:
    settings = runtime.settings
    variables: JSONObject = {name: settings[f"variable.{name}"] for name in ("product", "discount", "channel")}
    template = "Write an offer for the {product} with {discount} percent off, to be sent by {channel}."
    request = runtime.prompt("offer", template, variables)
    price = runtime.tool("get_price", {"product": "lamp"})
    draft = _call_model(runtime, "writer", request, f"Price list: {result_text(price)}")
    verdict = _call_model(runtime, "validator", draft)
    return _call_model(runtime, "editor", f"{draft}\n{verdict}")
