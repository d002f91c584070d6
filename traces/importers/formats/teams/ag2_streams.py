"""Events of AG2 1.x: logs of streams (`log/{stream}.jsonl`), events that Redis stores, and results of evaluations.

Calls are part of a response, and are events again when they run; their results come alone and then together. What a
compaction dropped from a stream is in files of their own (`{stream}.dropped-1.jsonl`). The stream of a subagent has a
log of its own, which the end of its task names.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, has_list, omit, text_or_json
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement, RecordedRun
from traces.core.vocabulary import StepStatus
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement
from traces.importers.common.model_calls import PROVIDER_RAN
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TextAction, TranscriptMessage, TranscriptSettings
from traces.importers.files.source import Source
from traces.importers.formats.session_logs.threads import Thread, nest

FORMAT: Final = "ag2"
_MODULE: Final = "ag2."
_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# How AG2 marks the class of a value, and where the value is.
_WRAPPERS: Final = {"__dataclass__": "data", "__pydantic__": "data", "__enum__": "value", "__bytes__": "__bytes__"}
_VALUES: Final = {**_WRAPPERS, "__uuid__": "__uuid__"}
_REQUESTS: Final = frozenset({"ModelRequest", "DrainedModelRequest"})
_RESULTS: Final = frozenset({"ToolResultEvent", "ToolErrorEvent", "ToolNotFoundEvent"})
# What a response, its calls and their results repeat.
_COPIES: Final = frozenset({"ToolCallEvent", "ToolCallsEvent", "ModelMessage", "ClientToolCallEvent"})
_RESPONSE_FIELDS: Final = ("message", "tool_calls", "usage", "model", "finish_reason", "created_at", "response_force")
_WITHOUT_CACHE: Final = frozenset({"anthropic", "bedrock"})


@dataclass(kw_only=True)
class _Stream:
    """The messages of a stream, and what its other events state."""

    entries: list[TranscriptMessage] = field(default_factory=list)
    notes: list[JSONValue] = field(default_factory=list)
    thoughts: list[JSONValue] = field(default_factory=list)
    builtin_calls: dict[str, JSONObject] = field(default_factory=dict)
    builtin_results: dict[str, JSONObject] = field(default_factory=dict)
    result_ids: set[str] = field(default_factory=set)
    # Tasks of subagents by id; streams of subagents with their calls and names.
    tasks: dict[str, JSONObject] = field(default_factory=dict)
    calls: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)


def is_recording(value: JSONValue) -> bool:
    """Return whether `value` is an event, or the result of an evaluation."""
    body = as_object(value)
    is_result = has_list(body, "tasks") and {"suite", "aggregates", "target"} <= body.keys()
    return is_result or (_type_path(body).startswith(_MODULE) and ".events" in _type_path(body))


def keys(source: Source) -> set[str]:
    """Return the streams of a file and of the subagents that its tasks name."""
    stream = _read([source])
    return {_stream_id(source), *stream.calls}


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield the runs of streams, with those of subagents inside their calls, and of the tasks of evaluations."""
    files: dict[str, list[Source]] = {}
    for source in sources:
        results = [(body, location) for body, location in source.entries() if has_list(body, "tasks")]
        for result, location in results:
            yield from _evaluation(result, location)
        if not results:
            files.setdefault(_stream_id(source), []).append(source)
    threads: dict[str, Thread] = {}
    names: dict[str, str] = {}
    for id, parts in files.items():
        stream = _read(parts)
        names |= stream.names
        threads[id] = Thread(run=_run(id, stream, {}, []), calls=stream.calls)
    for id, thread in threads.items():
        for inner_id in thread.calls.keys() & threads.keys() - {id}:
            inner = threads[inner_id]
            inner.parent = id
            inner.run = replace(inner.run, metadata={**inner.run.metadata, "agent_role": names.get(inner_id, "")})
    yield from nest(threads)


def _stream_id(source: Source) -> str:
    """Return the stream of a log, which its name begins with; of another file, its name."""
    id = _ID.match(PurePosixPath(source.name).name)
    return id[0] if id else source.name


def _type_path(event: JSONObject) -> str:
    return as_text(event.get("__event__")) or as_text(event.get("type"))


def _read(sources: Sequence[Source]) -> _Stream:
    stream = _Stream()
    for source in sources:
        for event, location in source.entries():
            _add_event(stream, event, location)
    return stream


def _plain(value: JSONValue) -> JSONValue:
    """Return a value without the marks of its classes; of an exception, its text."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "__exception__" in value:
        return ": ".join(filter(None, (as_text(value["__exception__"]), as_text(value.get("message")))))
    name = next((member for mark, member in _VALUES.items() if mark in value), None)
    if name is not None:
        return _plain(value.get(name))
    return {key: _plain(item) for key, item in value.items()}


def _add_event(stream: _Stream, event: JSONObject, location: str) -> None:
    kind = _type_path(event).rpartition(".")[2]
    data = as_object(_plain(as_object(event.get("data")) or omit(event, "__event__", "type")))
    if kind in _REQUESTS:
        content: list[JSONValue] = [_block(as_object(part)) for part in as_list(data.get("parts"))]
        value: JSONObject = {"role": "user", "content": content, "ts": data.get("created_at")}
        stream.entries.append(TranscriptMessage(value=value, location=location))
    elif kind == "ModelResponse":
        stream.entries.append(_answer(stream, data, location))
    elif kind in _RESULTS:
        _add_result(stream, data, location)
    elif kind == "ToolResultsEvent":
        for result in as_objects(data.get("results")):
            _add_result(stream, result, location)
    elif kind.startswith("BuiltinTool"):
        id = as_text(data.get("parent_id")) or as_text(data.get("id"))
        (stream.builtin_results if "parent_id" in data else stream.builtin_calls)[id] = data
    elif "Reasoning" in kind and as_text(data.get("content")):
        stream.thoughts.append({"type": "thinking", "thinking": data["content"]})
    elif kind not in _COPIES and not (kind == "UsageEvent" and data.get("kind") == "model_call"):
        stream.notes.append({"event": kind, **data})
        _add_task(stream, data)


def _add_task(stream: _Stream, data: JSONObject) -> None:
    """Note which call started the task of a subagent, whose end names its stream."""
    id = as_text(data.get("task_id"))
    if "parent_tool_call_id" in data:
        stream.tasks[id] = data
    if inner_stream := as_text(data.get("task_stream")):
        stream.calls[inner_stream] = as_text(stream.tasks.get(id, {}).get("parent_tool_call_id"))
        stream.names[inner_stream] = as_text(data.get("agent_name"))


def _block(part: JSONObject) -> JSONObject:
    """Return a block from a part of a request or a result: a text, data, or a file."""
    facts: JSONObject = {name: item for name, item in part.items() if name not in ("__event__", "created_at") and item}
    if "content" in part:
        return {"type": "text", "text": part["content"], **omit(facts, "content")}
    if set(facts) <= {"data", "metadata"}:
        return {"type": "text", "text": text_or_json(part.get("data")), **omit(facts, "data")}
    return {"type": "file", **facts}


def _answer(stream: _Stream, data: JSONObject, location: str) -> TranscriptMessage:
    message = as_object(data.get("message"))
    texts: list[JSONValue] = [{"type": "text", "text": message["content"]}] if message.get("content") else []
    calls: list[JSONValue] = [
        {"id": call.get("id"), "name": call.get("name"), "arguments": call.get("arguments")}
        for call in as_objects(as_object(data.get("tool_calls")).get("calls"))
    ]
    facts: JSONObject = {name: item for name, item in omit(data, *_RESPONSE_FIELDS).items() if item}
    if message.get("metadata"):
        facts["metadata"] = message["metadata"]
    actions = tuple(_builtin(call, stream.builtin_results.get(id, {})) for id, call in stream.builtin_calls.items())
    value: JSONObject = {
        "role": "assistant",
        "content": [*stream.thoughts, *texts] or None,
        "tool_calls": calls,
        "ts": data.get("created_at"),
        "usage": _usage(data),
        "model": data.get("model"),
        "finish_reason": data.get("finish_reason"),
        **facts,
    }
    stream.thoughts, stream.builtin_calls, stream.builtin_results = [], {}, {}
    return TranscriptMessage(value=value, location=location, actions=actions)


def _usage(data: JSONObject) -> JSONObject:
    """Return the counts of a response; those of the prompt exclude the cache where the provider's own do."""
    counts: JSONObject = {name: count for name, count in as_object(data.get("usage")).items() if count is not None}
    if as_text(data.get("provider")) not in _WITHOUT_CACHE:
        return counts
    own_names = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}
    return {own_names.get(name, name): count for name, count in counts.items()}


def _builtin(call: JSONObject, result: JSONObject) -> TextAction:
    return TextAction(
        name=as_text(call.get("name")),
        arguments=call.get("arguments"),
        output=_content(result),
        status=StepStatus.OK if result else StepStatus.PARTIAL,
        attributes={PROVIDER_RAN: True, "server_call_id": call.get("id")},
    )


def _content(result: JSONObject) -> JSONValue:
    parts: list[JSONValue] = [_block(as_object(part)) for part in as_list(as_object(result.get("result")).get("parts"))]
    return parts or None


def _add_result(stream: _Stream, result: JSONObject, location: str) -> None:
    id = as_text(result.get("parent_id"))
    if id in stream.result_ids:
        return
    stream.result_ids.add(id)
    facts = as_object(as_object(result.get("result")).get("metadata"))
    value: JSONObject = {
        "role": "tool",
        "tool_call_id": id,
        "content": _content(result),
        **({"metadata": facts} if facts else {}),
    }
    if result.get("error"):
        value["error"] = text_or_json(result["error"])
    stream.entries.append(TranscriptMessage(value={**value, "ts": result.get("created_at")}, location=location))


def _run(id: str, stream: _Stream, facts: JSONObject, judgements: list[RecordedJudgement]) -> RecordedRun:
    error = text_or_json(facts["exception"]) if facts.get("exception") else ""
    steps = transcripts.build_steps(stream.entries, TranscriptSettings(agent=FORMAT))
    if error:
        steps[0] = replace(steps[0], status=StepStatus.ERROR, error=error)
    return build_run(
        RunFacts(
            external_id=id
            if facts or _ID.match(id)
            else f"{FORMAT}-{content_id([entry.value for entry in stream.entries], '')}",
            app=FORMAT,
            format=FORMAT,
            failed=bool(error),
            metadata={**facts, "events": stream.notes},
            judgements=judgements,
        ),
        steps,
        location=f"stream {id}",
    )


def _evaluation(result: JSONObject, location: str) -> Iterator[RecordedRun]:
    """Yield the runs of an evaluation's tasks, with the feedback of its scorers."""
    common: JSONObject = omit(result, "tasks", "aggregates")
    for index, task in enumerate(as_objects(result["tasks"])):
        stream = _Stream()
        for number, event in enumerate(as_objects(task.get("events"))):
            _add_event(stream, event, f"{location}/tasks/{index}/events/{number}")
        exception = as_object(task.get("exception"))
        message = ": ".join(filter(None, (as_text(exception.get("type")), as_text(exception.get("message")))))
        facts: JSONObject = {**omit(task, "events", "feedback"), "evaluation": common, "exception": message}
        judgements = [
            judgement(
                as_text(item.get("key")),
                item["score"] if item.get("score") is not None else item.get("value"),
                text=as_text(item.get("comment")),
                detail=omit(item, "key", "score", "comment"),
            )
            for item in as_objects(task.get("feedback"))
        ]
        yield _run(f"{as_text(result.get('run_id'))}/{as_text(task.get('task_id'))}", stream, facts, judgements)
