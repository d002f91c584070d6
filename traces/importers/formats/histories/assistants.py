"""Threads of OpenAI's Assistants API: messages, runs and the steps of runs, as lists of the API or together."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, has_list
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepStatus
from traces.importers.common import transcripts
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.tool_schemas import normalize_tools
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import item_by_item, require_object
from traces.importers.files.source import Source, parse_records

FORMAT: Final = "openai-assistants"
_OBJECTS: Final = frozenset({"thread", "thread.message", "thread.run", "thread.run.step"})
_HOLDERS: Final = ("data", "messages", "runs", "steps", "run_steps", "thread", "run")
_FAILED: Final = frozenset({"failed", "expired", "incomplete"})
_OPEN: Final = frozenset({"queued", "in_progress", "requires_action", "cancelling"})


@dataclass(kw_only=True)
class _Thread:
    """The objects of a thread by id."""

    messages: dict[str, JSONObject] = field(default_factory=dict)
    runs: dict[str, JSONObject] = field(default_factory=dict)
    steps: dict[str, JSONObject] = field(default_factory=dict)
    metadata: JSONValue = None


def is_thread(value: JSONValue) -> bool:
    """Return True if `value` is an object of a thread, or contains some."""
    body = as_object(first_item(value))
    if as_text(body.get("object")) in _OBJECTS:
        return True
    return any(is_thread(body[name]) for name in _HOLDERS if body.get(name) and isinstance(body[name], dict | list))


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per thread."""
    threads: dict[str, _Thread] = {}
    for item in parse_records(sources, _read):
        kind, id = as_text(item["object"]), as_text(item.get("id"))
        if kind == "thread":
            threads.setdefault(id, _Thread()).metadata = item.get("metadata")
            continue
        thread = threads.setdefault(as_text(item.get("thread_id")), _Thread())
        table = {"thread.message": thread.messages, "thread.run": thread.runs}.get(kind, thread.steps)
        table[id] = item
    for thread_id, thread in threads.items():
        try:
            yield _run(thread_id, thread)
        except BadFile as problem:
            sources[-1].problems.append(problem)


@item_by_item
def _read(value: JSONValue, location: str) -> Iterator[JSONObject]:
    body = require_object(value, location)
    if as_text(body.get("object")) in _OBJECTS:
        if not as_text(body.get("id")):
            raise BadFile("an object of a thread needs an id", f"{location}/id")
        yield body
    for name in _HOLDERS:
        if has_list(body, name) or as_object(body.get(name)).get("object"):
            yield from _read(body[name], f"{location}/{name}")


def _run(thread_id: str, thread: _Thread) -> RecordedRun:
    runs = sorted(thread.runs.values(), key=_creation_time)
    last_run = runs[-1] if runs else {}
    setting = TranscriptSettings(
        model=as_text(last_run.get("model")),
        provider="openai",
        system=last_run.get("instructions"),
        tools=normalize_tools(last_run.get("tools") or []),
        parameters={name: last_run[name] for name in ("temperature", "top_p") if last_run.get(name) is not None},
    )
    status, error = as_text(last_run.get("status")), as_object(last_run.get("last_error"))
    reason = as_text(error.get("message")) or status
    steps = transcripts.build_steps(
        [message for _, message in sorted(_messages(thread), key=lambda pair: pair[0])], setting
    )
    if status in _FAILED:
        steps = [replace(steps[0], status=StepStatus.ERROR, error=reason), *steps[1:]]
    run_facts: list[JSONValue] = [
        {
            name: run[name]
            for name in ("id", "assistant_id", "status", "last_error", "usage", "metadata")
            if run.get(name)
        }
        for run in runs
    ]
    return build_run(
        RunFacts(
            external_id=thread_id or as_text(last_run.get("id")),
            app=FORMAT,
            format=FORMAT,
            has_ended=status not in _OPEN,
            metadata={"runs": run_facts, "metadata": thread.metadata},
        ),
        steps,
        location=f"thread {thread_id}",
    )


def _creation_time(item: JSONObject) -> float:
    time = item.get("created_at")
    return time if isinstance(time, int | float) else 0.0


def _messages(thread: _Thread) -> Iterator[tuple[tuple[float, int], TranscriptMessage]]:
    """Yield the messages with keys of their order: the API lists the newest first, and its times are whole seconds."""
    usages: dict[str, JSONValue] = {}
    # Of one second, requests come before the steps of runs, and these before the messages without a step.
    for index, step in enumerate(reversed([*thread.steps.values()])):
        details = as_object(step.get("step_details"))
        created_id = as_text(as_object(details.get("message_creation")).get("message_id"))
        usages[created_id] = step.get("usage")
        location = f"step {as_text(step.get('id'))}"
        for number, value in enumerate(_calls(step, as_objects(details.get("tool_calls")))):
            order = (_creation_time(step), 1_000 + index * 100 + number)
            yield order, TranscriptMessage(value=value, location=location)
    for index, message in enumerate(reversed([*thread.messages.values()])):
        id = as_text(message.get("id"))
        is_answer = message.get("role") == "assistant"
        value = _message(message, usages.get(id))
        order = (_creation_time(message), index + (10**6 if is_answer else 0))
        yield order, TranscriptMessage(value=value, location=f"message {id}")


def _message(message: JSONObject, usage: JSONValue) -> JSONObject:
    facts: JSONObject = {
        "usage": usage,
        "attachments": message.get("attachments"),
        "metadata": message.get("metadata"),
        "assistant_id": message.get("assistant_id"),
        "run_id": message.get("run_id"),
        "message_id": message.get("id"),
    }
    known_facts = {name: item for name, item in facts.items() if item not in (None, "", [], {})}
    content = [_block(as_object(block)) for block in as_list(message.get("content"))]
    return {"role": message.get("role"), "content": content, "ts": message.get("created_at"), **known_facts}


def _block(block: JSONObject) -> JSONValue:
    """Return a block with its text in place; annotations stay beside it."""
    text = as_object(block.get("text"))
    if not text:
        return block
    annotations = text.get("annotations")
    return {"type": "text", "text": text.get("value"), **({"annotations": annotations} if annotations else {})}


def _calls(step: JSONObject, calls: list[JSONObject]) -> Iterator[JSONObject]:
    """Yield the answer with the calls of a step, and their results."""
    if not calls:
        return
    readings = [_call(call) for call in calls]
    usage: JSONObject = {"usage": step["usage"]} if step.get("usage") else {}
    yield {
        "role": "assistant",
        "content": None,
        "tool_calls": [call for call, _ in readings],
        "ts": step.get("created_at"),
        **usage,
    }
    error = as_text(as_object(step.get("last_error")).get("message"))
    for call, output in readings:
        if output is not None or error:
            failure: JSONObject = {"error": error} if error else {}
            yield {
                "role": "tool",
                "tool_call_id": call["id"],
                "content": output,
                "ts": step.get("completed_at"),
                **failure,
            }


def _call(call: JSONObject) -> tuple[JSONObject, JSONValue]:
    """Return a call and its result: of a function, or of a tool that OpenAI ran."""
    kind = as_text(call.get("type"))
    body = as_object(call.get(kind))
    if kind == "function":
        return {"id": call.get("id"), "name": body.get("name"), "arguments": body.get("arguments")}, body.get("output")
    output = body.get("outputs", body.get("results"))
    arguments: JSONObject = {name: item for name, item in body.items() if name not in ("outputs", "results")}
    return {"id": call.get("id"), "name": kind, "arguments": arguments}, output
