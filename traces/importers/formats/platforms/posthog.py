"""PostHog: events of its LLM analytics, as its API, an export or a query returns them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from traces.core.json_access import (
    as_number,
    as_object,
    as_objects,
    as_text,
    first_member,
    has_list,
    list_or_single,
    text_or_json,
)
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.judgements import judgement
from traces.importers.common.messages import normalize_messages
from traces.importers.common.model_calls import Answer, normalize_finish_reason
from traces.importers.common.run_builder import (
    RunFacts,
    build_run,
    called_tool_names,
    container_type,
    match_calls,
    sort_causally,
)
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import Span, add_milliseconds, parse_time
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.rows import read_rows
from traces.importers.files.source import Source, parse_records
from traces.importers.formats.platforms.model_calls import add_call, add_cost

FORMAT: Final = "posthog"
_HOLDERS: Final = ("results", "events", "batch", "data")
# Events inside a trace of a query have the other name.
_TIMES: Final = ("timestamp", "createdAt")
_FLAT: Final = "properties."
_REFUSAL: Final = "an event of PostHog needs `event` and its `properties` with `$ai_trace_id`"
_MODEL: Final = "$ai_generation"
_TRACE: Final = "$ai_trace"
_TYPES: Final = {
    _MODEL: StepType.MODEL,
    "$ai_embedding": StepType.RETRIEVAL,
    "$ai_span": None,
    _TRACE: StepType.AGENT,
}
_MARKS: Final = {"$ai_metric": "$ai_metric_value", "$ai_feedback": "$ai_feedback_text"}
_USAGE: Final = {
    "$ai_input_tokens": "input_tokens",
    "$ai_output_tokens": "output_tokens",
    "$ai_cache_read_input_tokens": "cached_input_tokens",
    "$ai_cache_creation_input_tokens": "cache_writes",
    "$ai_reasoning_tokens": "reasoning_tokens",
}
# Anthropic counts cached tokens beside the others.
_ANTHROPIC: Final = {"cached_input_tokens": "cache_read_input_tokens", "cache_writes": "cache_creation_input_tokens"}
_FIELDS: Final = frozenset(
    {"$ai_trace_id", "$ai_span_id", "$ai_generation_id", "$ai_parent_id", "$ai_span_name", "$ai_input", "$ai_model"}
    | {"$ai_output_choices", "$ai_output", "$ai_input_state", "$ai_output_state", "$ai_provider", "$ai_tools"}
    | {"$ai_model_parameters", "$ai_total_cost_usd", "$ai_error"}
)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Event:
    """An event and its step, unless it is a mark."""

    body: JSONObject
    step: RecordedStep | None
    location: str


def is_export(value: JSONValue) -> bool:
    """Return whether `value` is an event of a trace, or a list or page of these."""
    body = as_object(first_item(value))
    return _is_row(body) or any(has_list(body, name) and is_export(body[name]) for name in _HOLDERS)


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per trace."""
    traces: dict[str, list[_Event]] = {}
    for event in parse_records(sources, _read):
        traces.setdefault(as_text(_properties(event.body)["$ai_trace_id"]), []).append(event)
    for id, events in traces.items():
        yield _run(id, events)


def _properties(event: JSONObject) -> JSONObject:
    return as_object(parse_embedded(event.get("properties")))


def _is_row(body: JSONObject) -> bool:
    is_known = as_text(body.get("event")) in _TYPES.keys() | _MARKS.keys()
    return is_known and (_is_flat(body) or bool(_properties(body).get("$ai_trace_id")))


def _read(value: JSONValue, location: str) -> Iterator[_Event]:
    """Yield events; raise `BadFile` for one that cannot become a step."""
    for row, place in read_rows(value, location, holders=_HOLDERS, is_row=_is_row, refusal=_REFUSAL):
        body = _nest(row) if _is_flat(row) else row
        yield _Event(body=body, step=_step(body, place) if as_text(body["event"]) in _TYPES else None, location=place)


def _is_flat(body: JSONObject) -> bool:
    return bool(body.get(f"{_FLAT}$ai_trace_id"))


def _nest(row: JSONObject) -> JSONObject:
    """Return the event in a row of a table whose columns are paths: `properties.$ai_input.0.content`."""
    properties: JSONObject = {}
    for name, value in row.items():
        if name.startswith(_FLAT):
            *path, last = name.removeprefix(_FLAT).split(".")
            place = properties
            for key in path:
                place = as_object(place.setdefault(key, {}))
            place[last] = value
    rest: JSONObject = {name: value for name, value in row.items() if not name.startswith(_FLAT)}
    return {**rest, "properties": _with_lists(properties)}


def _with_lists(value: JSONValue) -> JSONValue:
    """Return objects whose keys are all numbers as lists."""
    if not isinstance(value, dict):
        return value
    items = {key: _with_lists(item) for key, item in value.items()}
    return [items[key] for key in sorted(items, key=int)] if items and all(map(str.isdecimal, items)) else items


def _run(id: str, events: list[_Event]) -> RecordedRun:
    steps = [event.step for event in events if event.step]
    tools = called_tool_names(step.output for step in steps if step.type is StepType.MODEL)
    steps = [
        _step(event.body, event.location, tools)
        if event.step.name in tools and event.step.type is not StepType.MODEL
        else event.step
        for event in events
        if event.step
    ]
    bodies = [event.body for event in events]
    trace = next((_properties(body) for body in bodies if body["event"] == _TRACE), {})
    return build_run(
        RunFacts(
            external_id=id,
            app=FORMAT,
            format=FORMAT,
            name=as_text(trace.get("$ai_span_name")),
            metadata={
                "distinct_id": first_member(bodies[0], "distinct_id"),
                "session_id": _properties(bodies[0]).get("$ai_session_id"),
            },
            judgements=[mark for body in bodies if as_text(body["event"]) in _MARKS for mark in _marks(body)],
        ),
        match_calls(sort_causally(steps)),
        location=f"trace {id}",
    )


def _marks(event: JSONObject) -> Iterator[RecordedJudgement]:
    kind, properties = as_text(event["event"]), _properties(event)
    value = properties.get(_MARKS[kind])
    number = as_number(parse_embedded(value)) if isinstance(value, str) and value[:1].isdigit() else value
    yield judgement(
        as_text(properties.get("$ai_metric_name")) or "feedback",
        value if number is None else number,
        at=parse_time(first_member(event, *_TIMES), "/timestamp"),
    )


def _step(event: JSONObject, location: str, tools: frozenset[str] = frozenset()) -> RecordedStep:
    """Build the step of an event, which was sent when it had ended. A span with the name of a called tool is its."""
    kind, properties = as_text(event["event"]), _properties(event)
    trace_id = as_text(properties["$ai_trace_id"])
    name = as_text(first_member(properties, "$ai_span_name", "$ai_model"))
    has_failed = properties.get("$ai_is_error") in (True, "true")
    status = properties.get("$ai_http_status")
    error = properties.get("$ai_error")
    is_trace = kind == _TRACE
    facts = SpanFacts(
        key=trace_id if is_trace else as_text(_own_id(event, properties)),
        name=name or kind.removeprefix("$ai_"),
        type=_TYPES[kind] or (StepType.TOOL if name in tools else container_type(name)),
        times=_times(event, properties, location),
        parent=None if is_trace else as_text(properties.get("$ai_parent_id")) or trace_id,
        failed=has_failed or bool(error),
        error=text_or_json(error) if error else f"status {as_text(status)}",
        input=parse_embedded(first_member(properties, "$ai_input", "$ai_input_state")),
        output=parse_embedded(first_member(properties, "$ai_output_choices", "$ai_output", "$ai_output_state")),
        attributes={
            key: item
            for key, item in properties.items()
            if key not in _FIELDS and key not in _USAGE and item not in (None, "", [], {})
        },
    )
    return build_step(_model_facts(facts, properties) if kind == _MODEL else facts)


def _own_id(event: JSONObject, properties: JSONObject) -> JSONValue:
    return first_member(properties, "$ai_span_id", "$ai_generation_id") or first_member(event, "uuid", "id")


def _times(event: JSONObject, properties: JSONObject, location: str) -> Span:
    end = parse_time(first_member(event, *_TIMES), location)
    latency = as_number(properties.get("$ai_latency"))
    if end is None or latency is None:
        return Span(start=end, end=None)
    start = end.timestamp() - latency
    return Span(start=parse_time(start, location) if start > 0 else None, end=add_milliseconds(end, 0))


def _choice(choice: JSONValue) -> list[JSONObject]:
    """Return the message of a choice. PostHog's libraries write its calls as blocks of the type `function`."""
    body = as_object(choice)
    blocks: list[JSONValue] = [
        {**block, "type": "tool_call"} if block.get("type") == "function" else block
        for block in as_objects(body.get("content"))
    ]
    return normalize_messages({**body, "content": blocks} if blocks else choice, "assistant")


def _model_facts(facts: SpanFacts, properties: JSONObject) -> SpanFacts:
    usage: JSONObject = {name: properties[key] for key, name in _USAGE.items() if properties.get(key) is not None}
    if properties.get("$ai_provider") == "anthropic":
        usage = {_ANTHROPIC.get(name, name): count for name, count in usage.items()}
    tools = parse_embedded(properties.get("$ai_tools"))
    choices = [message for choice in list_or_single(facts.output) for message in _choice(choice)]
    facts = add_call(
        facts,
        settings={
            **as_object(parse_embedded(properties.get("$ai_model_parameters"))),
            **({"tools": tools} if tools else {}),
        },
        model=as_text(properties.get("$ai_model")),
        provider=properties.get("$ai_provider"),
        usage=usage,
    )
    if choices:
        reason = as_text(properties.get("$ai_stop_reason"))
        finish: JSONObject = {"finish_reason": normalize_finish_reason(reason)} if reason else {}
        facts.answer = Answer(output={"message": choices[0], **finish})
        if choices[1:]:
            facts.attributes = {**facts.attributes, "other_choices": [*choices[1:]]}
    return add_cost(facts, properties.get("$ai_total_cost_usd"))
