"""Events of an Inspect sample as steps.

Spans (before: `step` events) contain what happened between their begin and end; the span of a tool call is the tool
step itself. Model events name their input messages in a pool that all events of a sample share.
"""

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, cast

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.messages import as_text, normalize_messages, normalize_tools
from traces.importers.common.model_calls import (
    model_input,
    normalize_answer,
    normalize_parameters,
    normalize_provider,
    normalize_usage,
)
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import Span, parse_span, parse_time
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import first, items, obj, text
from traces.payloads.conversation import Conversation, Messages

ROOT: Final = "sample"
_RECENT: Final = 8  # conversations that go on: agents take turns
_ATTACHMENT: Final = "attachment://"
_USAGE_NAMES: Final = {
    "input_tokens_cache_read": "cache_read_input_tokens",
    "input_tokens_cache_write": "cache_creation_input_tokens",
}


_Bounds = list[tuple[JSONValue, ...]]


@dataclass(kw_only=True)
class _Pooled:
    """The messages in some ranges of a pool, which the ranges of later calls go on with."""

    bounds: _Bounds = field(default_factory=list)
    messages: Conversation = field(default_factory=Conversation)

    def is_continued_by(self, bounds: _Bounds) -> bool:
        """Whether `bounds` are these ranges, the last of them perhaps longer, and perhaps more after it."""
        last = len(self.bounds) - 1
        if len(bounds) <= last or bounds[:last] != self.bounds[:last]:
            return False
        mine, theirs = self.bounds[last], bounds[last]
        match (*mine, *theirs):
            case [int(start), int(end), int(begin), int(stop)]:
                return start == begin and end <= stop
            case _:
                return False


@dataclass(kw_only=True)
class _Reading:
    """Where the reading of a sample's events has arrived."""

    attachments: JSONObject
    pool: list[JSONValue]
    # number of a message of Inspect -> where its messages in the normal form begin in the pool
    starts: list[int]
    conversations: deque[_Pooled] = field(default_factory=lambda: deque(maxlen=_RECENT))
    steps: list[RecordedStep] = field(default_factory=list)
    # id of a span -> key of the step that its events are below
    owners: dict[str, str] = field(default_factory=dict)
    # key of a container -> its place among the steps
    containers: dict[str, int] = field(default_factory=dict)
    tool_spans: set[str] = field(default_factory=set)
    keys: set[str] = field(default_factory=lambda: {ROOT})
    open_steps: list[str] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, kw_only=True)
class SampleSteps:
    """The steps of a sample's events, and how many events of other kinds there were."""

    steps: list[RecordedStep]
    ignored: dict[str, int]


def read(sample: JSONObject, where: str) -> SampleSteps:
    """The steps below the sample's root, in order."""
    attachments = obj(sample.get("attachments"))
    listed = obj(sample.get("events_data")).get("messages") or sample.get("message_pool")
    pool: list[JSONValue] = []
    starts = [0]
    for each in items(listed):
        pool += messages(each, attachments)
        starts.append(len(pool))
    reading = _Reading(attachments=attachments, pool=pool, starts=starts)
    _read(reading, items(sample.get("events")), ROOT, where)
    return SampleSteps(steps=list(_without_empty(reading)), ignored=dict(reading.ignored))


def messages(value: JSONValue, attachments: JSONObject) -> list[JSONObject]:
    """A message of Inspect in the normal form."""
    message = obj(_resolved(value, attachments))
    calls: list[JSONValue] = [_call(obj(each)) for each in items(message.get("tool_calls"))]
    content = message.get("content")
    if isinstance(content, list):
        content = [_block(obj(each)) if isinstance(each, dict) else each for each in content]
    known = {"role": message.get("role"), "content": content, "tool_call_id": message.get("tool_call_id")}
    return normalize_messages({**{key: item for key, item in known.items() if item is not None}, "tool_calls": calls})


def _read(reading: _Reading, events: list[JSONValue], parent: str, where: str) -> None:
    depth = len(reading.open_steps)
    for at, each in enumerate(events):
        event, place = obj(each), f"{where}/events/{at}"
        key = _unused(reading, text(event.get("uuid")) or f"{parent}/{at}")
        above = reading.owners.get(text(event.get("span_id"))) or (
            reading.open_steps[-1] if len(reading.open_steps) > depth else parent
        )
        kind = text(event.get("event"))
        if kind == "span_begin":
            _begin_span(reading, event, parent, place)
        elif kind == "step" and event.get("action") == "begin":
            _begin(reading, _container(event, key, above, place))
            reading.open_steps.append(key)
        elif kind == "step" and len(reading.open_steps) > depth:
            _end(reading, reading.open_steps.pop(), event, place)
        elif kind == "span_end":
            _end(reading, reading.owners.get(text(event.get("id")), ""), event, place)
        elif (step := _step(reading, kind, event, key, above, place)) is not None:
            reading.steps.append(step)
            if nested := items(event.get("events")):
                _read(reading, nested, step.key, place)
        elif kind not in ("step", "sample_init"):
            reading.ignored[kind or "unknown"] += 1
    del reading.open_steps[depth:]


def _unused(reading: _Reading, key: str) -> str:
    """`key`, or one like it when an earlier event has the same."""
    if key in reading.keys:
        key = f"{key}~{len(reading.keys)}"
    reading.keys.add(key)
    return key


def _begin_span(reading: _Reading, event: JSONObject, parent: str, where: str) -> None:
    key = text(event.get("id"))
    if not key or key in reading.owners or key in reading.keys:
        return
    reading.keys.add(key)
    above = reading.owners.get(text(event.get("parent_id"))) or parent
    if event.get("type") == "tool":
        reading.owners[key] = above
        reading.tool_spans.add(key)
    else:
        _begin(reading, _container(event, key, above, where))
        reading.owners[key] = key


def _begin(reading: _Reading, container: RecordedStep) -> None:
    reading.containers[container.key] = len(reading.steps)
    reading.steps.append(container)


def _end(reading: _Reading, key: str, event: JSONObject, where: str) -> None:
    at = reading.containers.get(key)
    if at is not None:
        reading.steps[at] = replace(reading.steps[at], ended_at=parse_time(event.get("timestamp"), where))


def _without_empty(reading: _Reading) -> Iterator[RecordedStep]:
    """The steps without the containers that contain none."""
    used = {step.parent for step in reading.steps if step.key not in reading.containers}
    for step in reversed(reading.steps):
        if step.key in used:
            used.add(step.parent)
    yield from (step for step in reading.steps if step.key not in reading.containers or step.key in used)


def _container(event: JSONObject, key: str, parent: str, where: str) -> RecordedStep:
    kind, name = text(event.get("type")), text(event.get("name"))
    times = parse_span(event.get("timestamp"), None, where)
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


def _step(reading: _Reading, kind: str, event: JSONObject, key: str, parent: str, where: str) -> RecordedStep | None:
    times = parse_span(event.get("timestamp"), event.get("completed"), where)
    match kind:
        case "model":
            facts = _model(reading, event, key, times, where)
        case "tool":
            facts = _tool(reading, event, key, times)
        case "score":
            score = obj(_resolved(event.get("score"), reading.attachments))
            name = text(event.get("scorer")) or _name_of(reading, parent) or "score"
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
                name=text(event.get("approver")) or "approval",
                type=StepType.SAFETY,
                times=times,
                input=obj(_resolved(event.get("call"), reading.attachments)),
                output={name: event[name] for name in ("decision", "explanation") if event.get(name)},
            )
        case "subtask":
            facts = SpanFacts(
                key=key,
                name=text(event.get("name")) or "subtask",
                type=StepType.AGENT,
                times=times,
                input=_resolved(event.get("input"), reading.attachments),
                output=_resolved(event.get("result"), reading.attachments),
            )
        case _:
            return None
    return replace(build_step(facts), parent=parent)


def _model(reading: _Reading, event: JSONObject, key: str, times: Span, where: str) -> SpanFacts:
    output = obj(_resolved(event.get("output"), reading.attachments))
    model = text(event.get("model"))
    usage = {_USAGE_NAMES.get(name, name): count for name, count in obj(output.get("usage")).items()}
    cached = any(usage.get(name) for name in _USAGE_NAMES.values())
    counts = usage if cached else {name: n for name, n in usage.items() if name not in _USAGE_NAMES.values()}
    error = text(event.get("error")) or text(output.get("error"))
    facts = {"role": event.get("role"), "cache": event.get("cache"), "working_time": event.get("working_time")}
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
        usage=normalize_usage(counts, f"{where}/output/usage"),
        retries=retries if isinstance(retries, int) and 0 <= retries < 2**31 else 0,
        attributes={name: value for name, value in facts.items() if value is not None},
    )


def _request(reading: _Reading, event: JSONObject) -> JSONObject | None:
    given: Sequence[JSONValue] = [
        message for each in items(event.get("input")) for message in messages(each, reading.attachments)
    ]
    ranges = items(event.get("input_refs"))
    if ranges:
        given = [*given, *_shown(reading, ranges)] if given else _shown(reading, ranges)
    if not given:
        return None
    config: JSONObject = {name: value for name, value in obj(event.get("config")).items() if value is not None}
    choice = event.get("tool_choice")
    if choice not in (None, "auto") and items(event.get("tools")):
        config["tool_choice"] = choice
    request = model_input([], normalize_tools(event.get("tools") or []), normalize_parameters(config))
    return {**request, "messages": cast(JSONValue, given)}


def _shown(reading: _Reading, ranges: list[JSONValue]) -> Messages:
    """The messages of the pool in some ranges: the beginning of a conversation that calls before had as well."""
    bounds = [tuple(items(each)) for each in ranges]
    for known in reading.conversations:
        if known.is_continued_by(bounds):
            fresh = [(known.bounds[-1][1], bounds[len(known.bounds) - 1][1]), *bounds[len(known.bounds) :]]
            break
    else:
        known, fresh = _Pooled(), bounds
        reading.conversations.appendleft(known)
    for each in fresh:
        for message in _pooled(reading, [*each]):
            known.messages.append(message)
    known.bounds = bounds
    return known.messages.so_far


def _pooled(reading: _Reading, bounds: list[JSONValue]) -> list[JSONValue]:
    """The messages of the pool from the first of two numbers to before the second."""
    match bounds:
        case [int(start), int(end)] if 0 <= start <= end < len(reading.starts):
            return reading.pool[reading.starts[start] : reading.starts[end]]
        case _:
            raise BadFile(f"{as_text(bounds)[:40]} names no messages of the sample", "/input_refs")


def _name_of(reading: _Reading, key: str) -> str:
    """The name of the container with this key."""
    return reading.steps[reading.containers[key]].name if key in reading.containers else ""


def _choices(output: JSONObject) -> JSONValue:
    """The first choice, its message in the normal form."""
    choice = obj(next(iter(items(output.get("choices"))), None))
    answer = next(iter(messages({**obj(choice.get("message")), "role": "assistant"}, {})), None)
    if not choice or answer is None:
        return None
    if answer.get("content") in (None, "") and not answer.get("tool_calls"):
        return None
    return {"choices": [{"message": answer, "finish_reason": choice.get("stop_reason")}]}


def _tool(reading: _Reading, event: JSONObject, key: str, times: Span) -> SpanFacts:
    name, error = text(event.get("function")), obj(event.get("error"))
    problem = ": ".join(part for part in (text(error.get("type")), text(error.get("message"))) if part)
    if (span_id := text(event.get("span_id"))) in reading.tool_spans:
        reading.owners[span_id] = key
    facts = {"agent": event.get("agent"), "truncated": event.get("truncated")}
    return SpanFacts(
        key=key,
        name=name or "tool",
        type=StepType.TOOL,
        times=times,
        tool_name=name,
        failed=bool(error),
        error=problem or "error",
        is_open=bool(event.get("pending")),
        input=_resolved(event.get("arguments"), reading.attachments),
        output=None if event.get("pending") else _resolved(event.get("result"), reading.attachments),
        call_id=text(event.get("id")),
        attributes={name: value for name, value in facts.items() if value is not None},
    )


def _call(call: JSONObject) -> JSONObject:
    """A tool call: Inspect names its function by a text."""
    return {"id": call.get("id"), "name": call.get("function"), "arguments": call.get("arguments")}


def _block(block: JSONObject) -> JSONObject:
    if block.get("type") == "reasoning":
        return {"type": "thinking", "thinking": text(first(block, "reasoning", "summary"))}
    if block.get("type") == "text":
        return {"type": "text", "text": text(block.get("text"))}
    return block


def _resolved(value: JSONValue, attachments: JSONObject) -> JSONValue:
    """`value` with the texts that are kept as attachments put back."""
    if isinstance(value, str):
        if not value.startswith(_ATTACHMENT):
            return value
        return attachments.get(value.removeprefix(_ATTACHMENT), value)
    if isinstance(value, list):
        return [_resolved(each, attachments) for each in value]
    if isinstance(value, dict):
        return {key: _resolved(each, attachments) for key, each in value.items()}
    return value
