"""Datadog: spans of its observability for agents, as its API exports them and as programs send them."""

from collections.abc import Iterator, Sequence
from typing import Final

from traces.core.json_access import (
    as_list,
    as_number,
    as_object,
    as_objects,
    as_text,
    first_member,
    has_list,
    has_object,
    is_number,
)
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import JudgementKind, StepType
from traces.importers.common.judgements import judgement
from traces.importers.common.run_builder import RunFacts, build_run, container_type, match_calls, sort_causally
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import Span, add_milliseconds, parse_time
from traces.importers.files.json_reader import item_by_item
from traces.importers.files.rows import read_rows
from traces.importers.files.source import Source, parse_records
from traces.importers.formats.platforms.model_calls import SETTINGS, add_call

FORMAT: Final = "datadog"
_HOLDERS: Final = ("data", "spans")
_TYPES: Final = {
    "llm": StepType.MODEL,
    "tool": StepType.TOOL,
    "retrieval": StepType.RETRIEVAL,
    "embedding": StepType.RETRIEVAL,
    "agent": StepType.AGENT,
}
_NO_PARENTS: Final = frozenset({"", "undefined", "0"})
_COUNTS: Final = {
    "input_tokens": "prompt_tokens",
    "output_tokens": "completion_tokens",
    "cache_read_input_tokens": "cached_tokens",
    "cache_write_input_tokens": "cache_write_tokens",
    "reasoning_output_tokens": "reasoning_tokens",
}
_COST: Final = "estimated_total_cost"
_NOT_METRICS: Final = frozenset({*_COUNTS, _COST, "total_tokens"})
_NANODOLLARS: Final = 10**9
_NANOSECONDS: Final = 10**6


def is_export(value: JSONValue) -> bool:
    """Return True if `value` is a page of spans, a request that sends some, or a span."""
    body = _unwrap(first_item(value))
    if _is_span(body):
        return True
    return any(has_list(body, name) and any(map(is_export, as_list(body[name])[:1])) for name in _HOLDERS)


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per trace."""
    traces: dict[str, dict[str, JSONObject]] = {}
    for span in parse_records(sources, _read):
        traces.setdefault(as_text(span["trace_id"]), {})[as_text(span["span_id"])] = span
    for trace_id, spans in traces.items():
        yield _run(trace_id, list(spans.values()))


def _unwrap(value: JSONValue) -> JSONObject:
    """Return the attributes in the envelope of the API: those of a span, or what many spans share."""
    body = as_object(value)
    if has_object(body, "data"):
        body = as_object(body["data"])
    return as_object(body["attributes"]) if has_object(body, "attributes") and "trace_id" not in body else body


def _is_span(body: JSONObject) -> bool:
    has_start = not body.keys().isdisjoint({"start_ns", "start_ms"})
    return {"span_id", "trace_id"} <= body.keys() and has_start and ("span_kind" in body or "meta" in body)


@item_by_item
def _read(value: JSONValue, location: str) -> Iterator[JSONObject]:
    """Yield spans with what they share; raise `BadFile` for one that cannot become a step."""
    refusal = "a span of Datadog needs `span_id`, `trace_id` and `start_ns` or `start_ms`"
    body = _unwrap(value)
    shared_facts = {name: body[name] for name in ("ml_app", "session_id", "tags") if body.get(name)}
    if not _is_span(body) and has_list(body, "data"):
        yield from _read(body["data"], f"{location}/data")
        return
    for span, place in read_rows(body, location, holders=_HOLDERS, is_row=_is_span, refusal=refusal):
        whole_span = {**shared_facts, **_flatten(span)}
        _step(whole_span, place)
        yield whole_span


def _flatten(span: JSONObject) -> JSONObject:
    """Return a span that a program sent with the names that the export has."""
    meta = as_object(span.get("meta"))
    kind = first_member(meta, "span.kind", "kind") or as_object(meta.get("span")).get("kind")
    start = as_number(span.get("start_ms"))
    start_ns = span.get("start_ns") if start is None else round(start * _NANOSECONDS)
    return {**meta, **span, "start_ns": start_ns, "span_kind": span.get("span_kind") or kind}


def _run(trace_id: str, spans: list[JSONObject]) -> RecordedRun:
    location = f"trace {trace_id}"
    steps = match_calls(sort_causally([_step(span, location) for span in spans]))
    ids = {step.key for step in steps}
    root = next((span for span in spans if as_text(span.get("parent_id")) not in ids), spans[0])
    tags = [as_text(tag) for tag in as_list(root.get("tags"))]
    named_tags = dict(tag.split(":", 1) for tag in tags if ":" in tag)
    return build_run(
        RunFacts(
            external_id=trace_id,
            app=as_text(root.get("ml_app")) or named_tags.get("ml_app", FORMAT),
            format=FORMAT,
            name=as_text(root.get("name")),
            environment=named_tags.get("env", ""),
            failed=root.get("status") == "error",
            metadata={"session_id": root.get("session_id"), "tags": [*tags]},
            judgements=[
                score
                for span in spans
                for score in _evaluations(span, None if span is root else as_text(span["span_id"]))
            ],
        ),
        steps,
        location=location,
    )


def _step(span: JSONObject, location: str) -> RecordedStep:
    kind, name = as_text(span.get("span_kind")), as_text(span.get("name"))
    type = _TYPES.get(kind) or container_type(name)
    metadata, metrics = as_object(span.get("metadata")), as_object(span.get("metrics"))
    parent = as_text(span.get("parent_id"))
    error = as_object(span.get("error"))
    is_model = type is StepType.MODEL
    facts = SpanFacts(
        key=as_text(span["span_id"]),
        name=name or kind or "span",
        type=type,
        parent=None if parent in _NO_PARENTS else parent,
        times=_times(span, location),
        failed=span.get("status") == "error" or span.get("error") == 1,
        error=as_text(first_member({**span, **error}, "message", "error.message", "type")) or "error",
        input=_content(span.get("input"), "user"),
        output=_content(span.get("output"), "assistant"),
        attributes={
            "span_kind": kind if type not in _TYPES.values() or kind not in _TYPES else None,
            "metadata": {name: item for name, item in metadata.items() if not is_model or name not in SETTINGS},
            "metrics": {name: item for name, item in metrics.items() if name not in _NOT_METRICS and item},
            "error_details": {name: item for name, item in error.items() if name != "message"},
            "prompt": as_object(span.get("input")).get("prompt"),
            "intent": span.get("intent"),
        },
    )
    facts.attributes = {name: item for name, item in facts.attributes.items() if item not in (None, "", [], {})}
    return build_step(_with_call(facts, span, metadata, metrics) if is_model else facts)


def _with_call(facts: SpanFacts, span: JSONObject, metadata: JSONObject, metrics: JSONObject) -> SpanFacts:
    settings = {name: item for name, item in metadata.items() if name in SETTINGS}
    tools: list[JSONValue] = [
        {"name": tool.get("name"), "description": tool.get("description"), "parameters": tool.get("schema")}
        for tool in as_objects(span.get("tool_definitions"))
    ]
    usage: JSONObject = {_COUNTS[name]: _whole(item) for name, item in metrics.items() if name in _COUNTS and item}
    cost = metrics.get(_COST)
    return add_call(
        facts,
        settings={
            **as_object(as_object(span.get("input")).get("parameters")),
            **settings,
            **({"tools": tools} if tools else {}),
        },
        model=as_text(span.get("model_name")),
        provider=span.get("model_provider"),
        usage={**usage, **({"cost": cost / _NANODOLLARS} if is_number(cost) else {})},
    )


def _whole(count: JSONValue) -> JSONValue:
    """Return a count, which Datadog stores as a decimal number, as an integer."""
    return int(count) if isinstance(count, float) and count.is_integer() else count


def _times(span: JSONObject, location: str) -> Span:
    start, duration = parse_time(span.get("start_ns"), location), span.get("duration")
    end = add_milliseconds(start, duration / _NANOSECONDS if is_number(duration) else None)
    return Span(start=start, end=end)


def _content(value: JSONValue, role: str) -> JSONValue:
    """Return the messages, documents or text of an input or output."""
    body = as_object(value)
    if messages := as_objects(body.get("messages")):
        return [item for message in messages for item in _messages(message, role)]
    documents = as_list(body.get("documents"))
    return documents or first_member(body, "value", "text")


def _messages(message: JSONObject, role: str) -> Iterator[JSONValue]:
    """Yield a message and the results in it."""
    for result in as_objects(message.get("tool_results")):
        yield {"role": "tool", "tool_call_id": result.get("tool_id"), "content": result.get("result")}
    calls: list[JSONValue] = [
        {"id": call.get("tool_id"), "name": call.get("name"), "arguments": call.get("arguments")}
        for call in as_objects(message.get("tool_calls"))
    ]
    if message.get("content") or calls:
        text = {"role": as_text(message.get("role")) or role, "content": message.get("content")}
        yield {**text, **({"tool_calls": calls} if calls else {})}


def _evaluations(span: JSONObject, step: str | None) -> Iterator[RecordedJudgement]:
    for name, item in as_object(span.get("evaluation")).items():
        evaluation = as_object(item)
        score = judgement(name, evaluation.get("value"), text=as_text(evaluation.get("reasoning")), step=step)
        assessment = as_text(evaluation.get("assessment"))
        if assessment in ("pass", "fail"):
            score = RecordedJudgement(
                name=name, kind=JudgementKind(assessment), value=score.value, text=score.text, step=step
            )
        yield score
