"""HoneyHive: sessions with their events, as its API exports them."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, first_member, has_list, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import TOOL_DESCRIPTION, StepType
from traces.importers.common.judgements import judgement
from traces.importers.common.messages import normalize_messages
from traces.importers.common.run_builder import (
    RunFacts,
    app_name,
    build_run,
    container_type,
    match_calls,
    sort_causally,
)
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import parse_span
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.rows import read_rows
from traces.importers.files.source import Source, parse_records
from traces.importers.formats.platforms.model_calls import SETTINGS, add_call, add_cost, find_outer_spans

FORMAT: Final = "honeyhive"
_HOLDERS: Final = ("events", "data")
_REFUSAL: Final = "an event of HoneyHive needs `event_id`, `session_id` and an `event_type`"
_KINDS: Final = frozenset({"session", "chain", "model", "tool"})
_COUNTS: Final = frozenset({"input_tokens", "output_tokens", "prompt_tokens", "completion_tokens", "total_tokens"})
_COSTS: Final = ("cost", "total_cost")
_CONFIG: Final = frozenset({"model", "provider", "system", "tool_name", "tool_description", "hyperparameters"})
_FIELDS: Final = frozenset(
    {"event_id", "session_id", "parent_id", "event_type", "event_name", "config", "inputs", "outputs", "error"}
    | {"start_time", "end_time", "duration", "metadata", "metrics", "feedback", "children_ids"}
)
# What a tool states besides its result.
_TOOL_OUTPUTS: Final = frozenset({"result", "tool_call_id"})
# An OpenTelemetry span's names for what its event states.
_SPAN_NAMES: Final = frozenset(
    {"event_type", "operation_name", "span_id", "trace_id", "parent_span_id", "tool_call_id"}
)


def is_export(value: JSONValue) -> bool:
    """Return whether `value` is an event, or a list or page of these."""
    body = as_object(first_item(value))
    return _is_event(body) or any(has_list(body, name) and is_export(body[name]) for name in _HOLDERS)


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per session."""
    sessions: dict[str, dict[str, JSONObject]] = {}
    for event in parse_records(sources, _read):
        sessions.setdefault(as_text(event["session_id"]), {})[as_text(event["event_id"])] = event
    for session_id, events in sessions.items():
        try:
            yield _run(session_id, events)
        except BadFile as problem:
            sources[-1].problems.append(problem)


def _is_event(body: JSONObject) -> bool:
    return {"event_id", "session_id", "event_name"} <= body.keys() and as_text(body.get("event_type")) in _KINDS


def _read(value: JSONValue, location: str) -> Iterator[JSONObject]:
    """Yield events; raise `BadFile` for one that cannot become a step."""
    for event, place in read_rows(value, location, holders=_HOLDERS, is_row=_is_event, refusal=_REFUSAL):
        parse_span(event.get("start_time"), event.get("end_time"), place)
        yield event


def _run(session_id: str, events: dict[str, JSONObject]) -> RecordedRun:
    session = events.get(session_id, {})
    name = as_text(session.get("event_name"))
    parents = {id: as_text(event.get("parent_id")) for id, event in events.items()}
    outer_ids = find_outer_spans(parents, [id for id, event in events.items() if event["event_type"] == "model"])
    outer_ids |= {parents[id] for id, event in events.items() if event["event_type"] == "tool"}
    steps = [_step(event, outer_ids) for event in events.values()]
    return build_run(
        RunFacts(
            external_id=session_id,
            app=app_name(session.get("project"), name) or FORMAT,
            format=FORMAT,
            name=name,
            metadata={**as_object(session.get("user_properties")), **as_object(session.get("metadata"))},
            judgements=[score for event in events.values() for score in _judgements(event)],
        ),
        match_calls(sort_causally(steps)),
        location=f"session {session_id}",
    )


def _step(event: JSONObject, outer_ids: AbstractSet[str]) -> RecordedStep:
    key, error = as_text(event["event_id"]), as_text(event.get("error"))
    config, metadata = as_object(event.get("config")), as_object(event.get("metadata"))
    facts = SpanFacts(
        key=key,
        name=as_text(event["event_name"]) or as_text(event["event_type"]),
        type=_type(event, is_outer=key in outer_ids),
        times=parse_span(event.get("start_time"), event.get("end_time"), f"event {key}"),
        parent=as_text(event.get("parent_id")) or None,
        failed=bool(error),
        error=error,
        input=_inputs(event.get("inputs")),
        output=event.get("outputs") or None,
        attributes={name: item for name, item in event.items() if name not in _FIELDS and item not in (None, {}, [])},
    )
    settings = {**config, **as_object(config.get("hyperparameters"))}
    is_model = facts.type is StepType.MODEL
    rest = {name: item for name, item in config.items() if name not in _CONFIG | (SETTINGS if is_model else set())}
    excluded_names = {*_SPAN_NAMES, "model_name", *(_COUNTS if is_model else ()), *(_COSTS if is_model else ())}
    further_metadata = omit(metadata, *excluded_names) if key != event["session_id"] else {}
    facts.attributes |= {
        **({"config": rest} if rest else {}),
        **({"metadata": further_metadata} if further_metadata else {}),
    }
    if facts.type is StepType.TOOL:
        _add_tool(facts, event, config)
    elif is_model:
        facts = add_call(
            facts,
            settings={name: item for name, item in settings.items() if name in SETTINGS and item is not None},
            model=as_text(first_member(config, "model") or metadata.get("model_name")),
            provider=config.get("provider"),
            usage={name: metadata[name] for name in _COUNTS if metadata.get(name) is not None},
        )
        facts = add_cost(facts, first_member(metadata, *_COSTS))
    return build_step(facts)


def _type(event: JSONObject, *, is_outer: bool) -> StepType:
    """Return the type of a step. HoneyHive also calls agents and their turns tools."""
    kind, name = event["event_type"], as_text(event["event_name"])
    operation = as_text(as_object(event.get("metadata")).get("operation_name"))
    has_tool_name = bool(as_object(event.get("config")).get("tool_name"))
    if kind == "model" and not is_outer:
        return StepType.MODEL
    if kind == "tool" and (has_tool_name or (not is_outer and operation in ("", "execute_tool"))):
        return StepType.TOOL
    return StepType.AGENT if kind == "session" else container_type(name)


def _add_tool(facts: SpanFacts, event: JSONObject, config: JSONObject) -> None:
    inputs, outputs = as_object(event.get("inputs")), as_object(event.get("outputs"))
    facts.tool_name = facts.name = as_text(config.get("tool_name")) or facts.name.removeprefix("execute_tool ")
    facts.call_id = as_text(outputs.get("tool_call_id") or as_object(event.get("metadata")).get("tool_call_id"))
    # HoneyHive's decorator writes the arguments of a function as `_params_`.
    arguments = first_member(inputs, "parameters", "_params_") if len(inputs) == 1 else None
    facts.input = inputs if arguments is None else arguments
    if "result" in outputs and outputs.keys() <= _TOOL_OUTPUTS:
        facts.output = outputs["result"]
    if description := config.get("tool_description"):
        facts.attributes |= {TOOL_DESCRIPTION: description}


def _inputs(value: JSONValue) -> JSONValue:
    """Return the inputs of an event, with a conversation as messages."""
    body = as_object(value)
    if not has_list(body, "chat_history"):
        return value or None
    messages = [
        message for item in as_list(body["chat_history"]) for message in normalize_messages([_with_blocks(item)])
    ]
    return {**omit(body, "chat_history"), "messages": [*messages]}


def _with_blocks(value: JSONValue) -> JSONValue:
    """Return a message with its blocks: HoneyHive makes a text of a result that is the only one."""
    message = as_object(value)
    content = parse_embedded(message.get("content")) if message.get("role") == "tool" else None
    if not isinstance(content, dict) or content.keys() != {"toolResult"}:
        return value
    return {**message, "content": [content]}


def _judgements(event: JSONObject) -> Iterator[RecordedJudgement]:
    step = as_text(event["event_id"]) if event["event_type"] != "session" else None
    for name, value in {**as_object(event.get("metrics")), **as_object(event.get("feedback"))}.items():
        if isinstance(value, bool | int | float | str) and value != "":
            yield judgement(name, value, step=step)
