"""Events of an Inspect sample as steps.

Spans (in older logs: `step` events) contain the events between their begin and end. The span of a tool call is the tool
step itself. Model events refer to their input messages in a pool that all events of a sample share.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, cast

from traces.core.json_access import as_list, as_object, as_text, first_member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import map_strings
from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.messages import normalize_messages, result_text
from traces.importers.common.model_calls import (
    model_input,
    normalize_answer,
    normalize_parameters,
    normalize_provider,
    normalize_usage,
    usage_details,
)
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import Span, parse_span, parse_time
from traces.importers.common.tool_schemas import normalize_tools
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import parse_embedded
from traces.importers.formats.inspect.pool_slices import PoolSlice
from traces.importers.formats.inspect.reports import Reports
from traces.importers.formats.inspect.usage import read_usage
from traces.payloads.conversation import Messages

ROOT: Final = "sample"
# Open conversations: several agents take turns.
_MAX_CONVERSATIONS: Final = 8
# Changes of what samples and steps contain.
_CHANGES: Final = frozenset({"state", "store"})
_ATTACHMENT: Final = "attachment://"


@dataclass(kw_only=True)
class _Reading:
    """The state of reading the events of a sample."""

    attachments: JSONObject
    pool: list[JSONValue]
    # Number of an Inspect message -> start index of its normalized messages in the pool.
    starts: list[int]
    conversations: deque[PoolSlice] = field(default_factory=lambda: deque(maxlen=_MAX_CONVERSATIONS))
    steps: list[RecordedStep] = field(default_factory=list)
    # Span id -> key of the container of its events.
    owners: dict[str, str] = field(default_factory=dict)
    # Container key -> its index in the steps.
    containers: dict[str, int] = field(default_factory=dict)
    # Span id of a tool call without its event so far -> name of the tool, and the ids by name, the newest last.
    tool_spans: dict[str, str] = field(default_factory=dict)
    spans_by_tool: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    keys: set[str] = field(default_factory=lambda: {ROOT})
    open_steps: list[str] = field(default_factory=list)
    ignored_events: Counter[str] = field(default_factory=Counter)
    reports: Reports = field(default_factory=Reports)


@dataclass(frozen=True, kw_only=True)
class SampleSteps:
    """The steps of a sample's events, what events report outside tools, and the number of ignored ones by kind."""

    steps: list[RecordedStep]
    reports: list[JSONValue]
    ignored_events: dict[str, int]


def read_steps(sample: JSONObject, location: str) -> SampleSteps:
    """Read the steps below the root of a sample, in order."""
    attachments = as_object(sample.get("attachments"))
    pool_messages = as_object(sample.get("events_data")).get("messages") or sample.get("message_pool")
    pool: list[JSONValue] = []
    starts = [0]
    for message in as_list(pool_messages):
        pool += normalize_sample_messages(message, attachments)
        starts.append(len(pool))
    reading = _Reading(attachments=attachments, pool=pool, starts=starts)
    _read_events(reading, as_list(sample.get("events")), ROOT, location)
    steps, reports = reading.reports.attach(_drop_empty_containers(reading), reading.owners)
    return SampleSteps(steps=steps, reports=reports, ignored_events=dict(reading.ignored_events))


def normalize_sample_messages(value: JSONValue, attachments: JSONObject) -> list[JSONObject]:
    """Convert an Inspect message to normalized messages."""
    message = as_object(_resolve_attachments(value, attachments))
    calls: list[JSONValue] = [_call(as_object(call)) for call in as_list(message.get("tool_calls"))]
    content = message.get("content")
    if isinstance(content, list):
        content = [part for block in content for part in _blocks(block)]
    fields = {"role": message.get("role"), "content": content, "tool_call_id": message.get("tool_call_id")}
    return normalize_messages({**{key: item for key, item in fields.items() if item is not None}, "tool_calls": calls})


def _read_events(reading: _Reading, events: list[JSONValue], parent: str, location: str) -> None:
    depth = len(reading.open_steps)
    for index, event_value in enumerate(events):
        event, event_location = as_object(event_value), f"{location}/events/{index}"
        key = _unique_key(reading, as_text(event.get("uuid")) or f"{parent}/{index}")
        container_key = reading.owners.get(as_text(event.get("span_id"))) or (
            reading.open_steps[-1] if len(reading.open_steps) > depth else parent
        )
        kind = as_text(event.get("event"))
        if kind == "span_begin":
            _begin_span(reading, event, parent, event_location)
        elif kind == "step" and event.get("action") == "begin":
            _begin_container(reading, _container(event, key, container_key, event_location))
            reading.open_steps.append(key)
        elif kind == "step" and len(reading.open_steps) > depth:
            _end_container(reading, reading.open_steps.pop(), event, event_location)
        elif kind == "span_end":
            _end_container(reading, reading.owners.get(as_text(event.get("id")), ""), event, event_location)
        elif (step := _step(reading, kind, event, key, container_key, event_location)) is not None:
            reading.steps.append(step)
            if inner_events := as_list(event.get("events")):
                _read_events(reading, inner_events, step.key, event_location)
        elif kind in _CHANGES:
            reading.ignored_events[kind] += 1
        elif kind not in ("step", "sample_init"):
            reading.reports.add(as_object(_resolve_attachments(event, reading.attachments)), container_key)
    del reading.open_steps[depth:]


def _unique_key(reading: _Reading, key: str) -> str:
    """Return `key`, with a suffix if an earlier event has the same key."""
    if key in reading.keys:
        key = f"{key}~{len(reading.keys)}"
    reading.keys.add(key)
    return key


def _begin_span(reading: _Reading, event: JSONObject, parent: str, location: str) -> None:
    key = as_text(event.get("id"))
    if not key or key in reading.owners or key in reading.keys:
        return
    reading.keys.add(key)
    container_key = reading.owners.get(as_text(event.get("parent_id"))) or parent
    if event.get("type") == "tool":
        reading.owners[key] = container_key
        reading.tool_spans[key] = as_text(event.get("name"))
        reading.spans_by_tool[reading.tool_spans[key]].append(key)
    else:
        _begin_container(reading, _container(event, key, container_key, location))
        reading.owners[key] = key


def _begin_container(reading: _Reading, container: RecordedStep) -> None:
    reading.containers[container.key] = len(reading.steps)
    reading.steps.append(container)


def _end_container(reading: _Reading, key: str, event: JSONObject, location: str) -> None:
    index = reading.containers.get(key)
    if index is not None:
        reading.steps[index] = replace(reading.steps[index], ended_at=parse_time(event.get("timestamp"), location))


def _drop_empty_containers(reading: _Reading) -> Iterator[RecordedStep]:
    """Yield the steps without empty containers."""
    used_keys = {step.parent for step in reading.steps if step.key not in reading.containers}
    for step in reversed(reading.steps):
        if step.key in used_keys:
            used_keys.add(step.parent)
    yield from (step for step in reading.steps if step.key not in reading.containers or step.key in used_keys)


def _container(event: JSONObject, key: str, parent: str, location: str) -> RecordedStep:
    kind, name = as_text(event.get("type")), as_text(event.get("name"))
    times = parse_span(event.get("timestamp"), None, location)
    return build_step(
        SpanFacts(
            key=key,
            name=name or kind or "span",
            type=StepType.AGENT,
            times=times,
            parent=parent,
            attributes={"span_type": kind} if kind else {},
        )
    )


def _step(reading: _Reading, kind: str, event: JSONObject, key: str, parent: str, location: str) -> RecordedStep | None:
    times = parse_span(event.get("timestamp"), event.get("completed"), location)
    match kind:
        case "model":
            facts = _model(reading, event, key, times, location)
        case "tool":
            facts = _tool(reading, event, key, times)
        case "score":
            score = as_object(_resolve_attachments(event.get("score"), reading.attachments))
            name = as_text(event.get("scorer")) or _container_name(reading, parent) or "score"
            facts = SpanFacts(
                key=key,
                name=name,
                type=StepType.VALIDATOR,
                times=times,
                input={"target": event.get("target")} if event.get("target") is not None else None,
                output=score,
            )
        case "approval":
            facts = SpanFacts(
                key=key,
                name=as_text(event.get("approver")) or "approval",
                type=StepType.SAFETY,
                times=times,
                input=as_object(_resolve_attachments(event.get("call"), reading.attachments)),
                output={name: event[name] for name in ("decision", "explanation") if event.get(name)},
            )
        case "subtask":
            facts = SpanFacts(
                key=key,
                name=as_text(event.get("name")) or "subtask",
                type=StepType.AGENT,
                times=times,
                input=_resolve_attachments(event.get("input"), reading.attachments),
                output=_resolve_attachments(event.get("result"), reading.attachments),
            )
        case _:
            return None
    return replace(build_step(facts), parent=parent)


def _model(reading: _Reading, event: JSONObject, key: str, times: Span, location: str) -> SpanFacts:
    output = as_object(_resolve_attachments(event.get("output"), reading.attachments))
    model = as_text(event.get("model"))
    usage = read_usage(output)
    error = as_text(event.get("error")) or as_text(output.get("error"))
    facts = {"role": event.get("role"), "cache": event.get("cache"), "working_time": event.get("working_time")}
    answer_model = as_text(output.get("model"))
    facts["response_model"] = answer_model if answer_model not in ("", model.rpartition("/")[2], model) else None
    retries = event.get("retries")
    return SpanFacts(
        key=key,
        name=model or "model",
        type=StepType.MODEL,
        times=times,
        failed=bool(error),
        error=error,
        is_open=bool(event.get("pending")),
        request=_request(reading, event),
        answer=normalize_answer(_choices(output)),
        model=model.split("/", 1)[-1],
        provider=normalize_provider(model.split("/", 1)[0] if "/" in model else "", model),
        usage=normalize_usage(usage, f"{location}/output/usage"),
        retries=retries if isinstance(retries, int) and 0 <= retries < 2**31 else 0,
        attributes={**{name: value for name, value in facts.items() if value is not None}, **usage_details(usage)},
    )


def _request(reading: _Reading, event: JSONObject) -> JSONObject | None:
    request_messages: Sequence[JSONValue] = [
        message
        for item in as_list(event.get("input"))
        for message in normalize_sample_messages(item, reading.attachments)
    ]
    ranges = as_list(event.get("input_refs"))
    if ranges:
        request_messages = (
            [*request_messages, *_pool_conversation(reading, ranges)]
            if request_messages
            else _pool_conversation(reading, ranges)
        )
    if not request_messages:
        return None
    config: JSONObject = {name: value for name, value in as_object(event.get("config")).items() if value is not None}
    choice = event.get("tool_choice")
    if choice not in (None, "auto") and as_list(event.get("tools")):
        config["tool_choice"] = choice
    request = model_input([], normalize_tools(event.get("tools") or []), normalize_parameters(config))
    return {**request, "messages": cast(JSONValue, request_messages)}


def _pool_conversation(reading: _Reading, ranges: list[JSONValue]) -> Messages:
    """Return the pool messages in some ranges, as an extension of an earlier call's conversation if possible."""
    bounds = [tuple(as_list(pair)) for pair in ranges]
    for conversation in reading.conversations:
        if conversation.is_continued_by(bounds):
            new_bounds = [
                (conversation.bounds[-1][1], bounds[len(conversation.bounds) - 1][1]),
                *bounds[len(conversation.bounds) :],
            ]
            break
    else:
        conversation, new_bounds = PoolSlice(), bounds
        reading.conversations.appendleft(conversation)
    for pair in new_bounds:
        for message in _pool_messages(reading, [*pair]):
            conversation.messages.append(message)
    conversation.bounds = bounds
    return conversation.messages.snapshot


def _pool_messages(reading: _Reading, bounds: list[JSONValue]) -> list[JSONValue]:
    """Return the pool messages from the first number up to, but not including, the second."""
    match bounds:
        case [int(start), int(end)] if 0 <= start <= end < len(reading.starts):
            return reading.pool[reading.starts[start] : reading.starts[end]]
        case _:
            raise BadFile(f"{result_text(bounds)[:40]} is not a range of the sample's messages", "/input_refs")


def _container_name(reading: _Reading, key: str) -> str:
    """Return the name of a container; empty if the key is unknown."""
    return reading.steps[reading.containers[key]].name if key in reading.containers else ""


def _choices(output: JSONObject) -> JSONValue:
    """Return the first choice with a normalized message; None if the message is empty."""
    choice = as_object(next(iter(as_list(output.get("choices"))), None))
    answer = next(iter(normalize_sample_messages({**as_object(choice.get("message")), "role": "assistant"}, {})), None)
    if not choice or answer is None:
        return None
    if answer.get("content") in (None, "") and not answer.get("tool_calls"):
        return None
    return {"choices": [{"message": answer, "finish_reason": choice.get("stop_reason")}]}


def _tool_span(reading: _Reading, span_id: str, name: str) -> str | None:
    """Return the span of a tool call, once: its event is in the span, or names the span around it and follows it."""
    open_spans = reading.spans_by_tool.get(name, [])
    while span_id not in reading.tool_spans:
        if not open_spans:
            return None
        span_id = open_spans.pop()
    del reading.tool_spans[span_id]
    return span_id


def _tool(reading: _Reading, event: JSONObject, key: str, times: Span) -> SpanFacts:
    name, error = as_text(event.get("function")), as_object(event.get("error"))
    problem = ": ".join(part for part in (as_text(error.get("type")), as_text(error.get("message"))) if part)
    if (span_id := _tool_span(reading, as_text(event.get("span_id")), name)) is not None:
        reading.owners[span_id] = key
    facts = {"agent": event.get("agent"), "truncated": event.get("truncated")}
    return SpanFacts(
        key=key,
        name=name or "tool",
        type=StepType.TOOL,
        times=times,
        tool_name=name,
        failed=bool(error) or event.get("failed") is True,
        error=problem or "error",
        is_open=bool(event.get("pending")),
        input=_resolve_attachments(event.get("arguments"), reading.attachments),
        output=None if event.get("pending") else _resolve_attachments(event.get("result"), reading.attachments),
        call_id=as_text(event.get("id")),
        attributes={name: value for name, value in facts.items() if value is not None},
    )


def _call(call: JSONObject) -> JSONObject:
    """Convert a tool call, whose `function` is a name in Inspect."""
    return {"id": call.get("id"), "name": call.get("function"), "arguments": call.get("arguments")}


def _blocks(value: JSONValue) -> list[JSONValue]:
    """Return a block of a message; a call that the provider ran, with its result, becomes two."""
    block = as_object(value)
    match block.get("type"):
        case "reasoning":
            # Redacted, only the summary can be read.
            names = ("summary", "reasoning") if block.get("redacted") else ("reasoning", "summary")
            return [{"type": "thinking", "thinking": as_text(first_member(block, *names))}]
        case "text":
            return [{"type": "text", "text": as_text(block.get("text"))}]
        case "tool_use":
            return _provider_call(block)
    return [value]


def _provider_call(block: JSONObject) -> list[JSONValue]:
    kind, result = f"{as_text(block.get('tool_type'))}_tool_result", first_member(block, "error", "result")
    failure: JSONObject = {"is_error": True} if block.get("error") else {}
    arguments = parse_embedded(block.get("arguments"))
    return [
        {"type": "server_tool_use", "id": block.get("id"), "name": block.get("name"), "input": arguments},
        {"type": kind, "tool_use_id": block.get("id"), "content": parse_embedded(result), **failure},
    ]


def _resolve_attachments(value: JSONValue, attachments: JSONObject) -> JSONValue:
    """Replace references to attachments in `value` by their texts."""

    def resolve(text: str) -> JSONValue:
        return attachments.get(text.removeprefix(_ATTACHMENT), text) if text.startswith(_ATTACHMENT) else text

    return map_strings(value, resolve)
