"""LangChain: what `astream_events` yields, as the runs that LangSmith would have of it.

{"event": "on_tool_start", "name": "find", "run_id": …, "parent_ids": […], "data": {"input": {…}}}
{"event": "on_tool_end", "name": "find", "run_id": …, "parent_ids": […], "data": {"output": …}}
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import orjson

from traces.core.json_access import as_list, as_object, as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun
from traces.importers.files.source import Source
from traces.importers.formats.frameworks import langchain
from traces.importers.formats.tracing import langsmith

FORMAT: Final = "langchain-events"
_EVENT: Final = re.compile(r"on_(chain|chat_model|llm|tool|retriever|prompt|parser)_(start|stream|end|error)")
_RUN_TYPES: Final = {"chat_model": "llm"}
# Of a model, as its metadata have them with a prefix.
_SETTINGS: Final = ("temperature", "max_tokens", "stop")
_CUSTOM: Final = "on_custom_event"


def is_event(value: JSONValue) -> bool:
    """Return whether `value` is an event, or a list of these."""
    event = as_object(first_item(value))
    is_known = _EVENT.fullmatch(as_text(event.get("event"))) or event.get("event") == _CUSTOM
    return bool(is_known) and {"run_id", "data"} <= event.keys()


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per trace."""
    for source in sources:
        runs: dict[str, JSONObject] = {}
        for event, _ in source.entries():
            _add(runs, event)
        records = Source(name=source.name, data=orjson.dumps({"post": list(runs.values())}))
        # Events have no times: their order is that of the runs.
        positions = {key: position for position, key in enumerate(runs)}
        for run in langsmith.parse([records]):
            steps = sorted(run.steps, key=lambda step: positions.get(step.key, len(positions)))
            app = FORMAT if run.app == langsmith.FORMAT else run.app
            yield replace(run, format=FORMAT, app=app, steps=tuple(steps))
        source.problems.extend(records.problems)


def _add(runs: dict[str, JSONObject], event: JSONObject) -> None:
    """Add what an event states about its run; chunks of an answer are in its end, too."""
    match, run_id = _EVENT.fullmatch(as_text(event.get("event"))), as_text(event.get("run_id"))
    data, run = as_object(event.get("data")), runs.get(run_id)
    if match is None:
        if run is not None:
            as_list(run.setdefault("events", [])).append({"name": event.get("name"), "data": event.get("data")})
        return
    kind, moment = match[1], match[2]
    if run is None:
        run = runs[run_id] = _run(event, kind, next(iter(runs), ""))
    if "input" in data:
        run["inputs"] = _request(data["input"]) if run["run_type"] == "llm" else _members(data["input"], "input")
    if moment == "end":
        output = data.get("output")
        run["outputs"] = _answer(output) if run["run_type"] == "llm" else _members(output, "output")
    elif moment == "error":
        run["error"] = as_text(data.get("error")) or "error"


def _run(event: JSONObject, kind: str, root: str) -> JSONObject:
    """Return a run. The first version of these events names no parents: then it is below the first one."""
    parents = [as_text(item) for item in as_list(event.get("parent_ids"))]
    if "parent_ids" not in event and root:
        parents = [root]
    metadata = as_object(event.get("metadata"))
    settings: JSONObject = {name: metadata[f"ls_{name}"] for name in _SETTINGS if f"ls_{name}" in metadata}
    return {
        "id": event.get("run_id"),
        "name": event.get("name"),
        "run_type": _RUN_TYPES.get(kind, kind),
        "parent_run_id": parents[-1] if parents else None,
        "trace_id": parents[0] if parents else event.get("run_id"),
        "tags": event.get("tags"),
        "extra": {"metadata": metadata, **({"invocation_params": settings} if settings else {})},
    }


def _members(value: JSONValue, name: str) -> JSONValue:
    is_object = isinstance(value, dict) and not langchain.is_message(value)
    return value if is_object or value is None else {name: value}


def _request(value: JSONValue) -> JSONValue:
    """Return the request of a model call, of which LangChain has one list of messages per prompt."""
    body = as_object(value)
    lists = as_list(body.get("messages")) if body else as_list(value)
    messages = as_list(first_item(lists)) or lists
    if not any(map(langchain.is_message, messages)):
        return _members(value, "input")
    return {"messages": [langchain.normalize_message(message, "") for message in messages if as_object(message)]}


def _answer(value: JSONValue) -> JSONValue:
    generations = as_list(as_object(value).get("generations"))
    if generations and langchain.is_message(inner := as_object(first_item(generations[0])).get("message")):
        # The first version of these events.
        value = inner
    if not langchain.is_message(value):
        return _members(value, "output")
    message = langchain.normalize_message(value, "")
    usage = message.pop("usage", None)
    reason = message.pop("finish_reason", None)
    model = {"model_name": message.pop("model", None)}
    return {"choices": [{"message": message, "finish_reason": reason}], "usage": usage, "llm_output": model}
