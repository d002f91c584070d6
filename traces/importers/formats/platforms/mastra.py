"""Mastra: spans of its observability, as its API and its storage return them.

agent_run > model_generation > model_step (one call of the model) > model_inference, model_chunk
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_list, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.model_calls import normalize_usage
from traces.importers.common.run_builder import RunFacts, build_run, container_type, match_calls, sort_causally
from traces.importers.common.spans import SpanFacts, build_step
from traces.importers.common.times import parse_span
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.rows import read_rows
from traces.importers.files.source import Source, parse_records
from traces.importers.formats.platforms.model_calls import add_call

FORMAT: Final = "mastra"
_HOLDERS: Final = ("spans", "traces", "data")
_SPAN: Final = frozenset({"traceId", "spanId", "spanType", "startedAt"})
_REFUSAL: Final = "a span of Mastra needs `traceId`, `spanId`, `spanType` and `startedAt`"
_TYPES: Final = {
    "tool_call": StepType.TOOL,
    "mcp_tool_call": StepType.TOOL,
    "client_tool_call": StepType.TOOL,
    "provider_tool_call": StepType.TOOL,
    "workspace_action": StepType.TOOL,
    "rag_embedding": StepType.RETRIEVAL,
    "rag_vector_operation": StepType.RETRIEVAL,
    "scorer_run": StepType.VALIDATOR,
}
# Spans of one call of a model, the inner one last: the first that a trace has is the call, and those around it are not.
_CALLS: Final = ("model_step", "model_generation", "llm_generation")
# Parts of an answer that the span around them has as a whole.
_CHUNKS: Final = frozenset({"model_chunk", "llm_chunk"})
_QUOTES: Final = re.compile(r"'([^']+)'")
_FIELDS: Final = frozenset(
    {"traceId", "spanId", "parentSpanId", "name", "spanType", "startedAt", "endedAt", "input", "output", "error"}
    | {"attributes", "createdAt", "updatedAt", "isEvent"}
)
_MODEL_FIELDS: Final = ("model", "responseModel", "provider", "parameters", "usage", "finishReason", "tools")


def is_export(value: JSONValue) -> bool:
    """Return whether `value` is a span, or a list, a trace or a page of these."""
    body = as_object(first_item(value))
    return _is_span(body) or any(has_list(body, name) and is_export(body[name]) for name in _HOLDERS)


def parse(sources: Sequence[Source]) -> Iterator[RecordedRun]:
    """Yield one run per trace."""
    traces: dict[str, dict[str, JSONObject]] = {}
    for span in parse_records(sources, _read):
        traces.setdefault(as_text(span["traceId"]), {})[as_text(span["spanId"])] = span
    for id, spans in traces.items():
        yield _run(id, spans)


def _is_span(body: JSONObject) -> bool:
    return body.keys() >= _SPAN


def _read(value: JSONValue, location: str) -> Iterator[JSONObject]:
    """Yield spans; raise `BadFile` for one that cannot become a step."""
    for span, place in read_rows(value, location, holders=_HOLDERS, is_row=_is_span, refusal=_REFUSAL):
        parse_span(span["startedAt"], span.get("endedAt"), place)
        normalize_usage(_usage(as_object(parse_embedded(span.get("attributes")))), place)
        if as_text(span["spanType"]) not in _CHUNKS:
            yield span


def _run(id: str, spans: dict[str, JSONObject]) -> RecordedRun:
    parents = {key: as_text(span.get("parentSpanId")) for key, span in spans.items()}
    outer = frozenset(parents[key] for key, span in spans.items() if span["spanType"] == "model_step")
    steps = [_step(span, spans, outer, f"span {key}") for key, span in spans.items()]
    root = next((span for key, span in spans.items() if parents[key] not in spans), {})
    return build_run(
        RunFacts(
            external_id=id,
            app=as_text(first_member(root, "serviceName", "entityName", "entityId")) or FORMAT,
            environment=as_text(root.get("environment")),
            format=FORMAT,
            name=as_text(root.get("name")),
            tags=[as_text(tag) for tag in as_list(parse_embedded(root.get("tags")))],
        ),
        match_calls(sort_causally(steps)),
        location=f"trace {id}",
    )


def _step(span: JSONObject, spans: dict[str, JSONObject], outer_ids: frozenset[str], location: str) -> RecordedStep:
    kind, key = as_text(span["spanType"]), as_text(span["spanId"])
    attributes = as_object(parse_embedded(span.get("attributes")))
    error = as_object(parse_embedded(first_member(span, "error", "errorInfo")))
    name = as_text(span.get("name"))
    is_call = kind in _CALLS and key not in outer_ids
    type = StepType.MODEL if is_call else _TYPES.get(kind) or container_type(name)
    facts = SpanFacts(
        key=key,
        name=name or kind,
        type=type,
        times=parse_span(span["startedAt"], span.get("endedAt"), location),
        parent=as_text(span.get("parentSpanId")) or None,
        failed=bool(error) or attributes.get("success") is False,
        error=as_text(error.get("message")) or "the call failed",
        is_open=span.get("endedAt") is None and span.get("isEvent") is not True,
        input=parse_embedded(span.get("input")),
        output=parse_embedded(span.get("output")),
        tool_name=as_text(first_member(attributes, "toolId") or span.get("entityName")) or _name_in_quotes(name),
        call_id=as_text(attributes.get("toolCallId")) if type is StepType.TOOL else "",
        attributes={
            name: item
            for name, item in {
                **omit(attributes, *(_MODEL_FIELDS if is_call else ())),
                "spanType": kind,
                **{name: item for name, item in span.items() if name not in _FIELDS},
                **({"error": error} if error.keys() - {"message"} else {}),
            }.items()
            if item not in (None, "", [], {})
        },
    )
    if not is_call:
        return build_step(facts)
    outer_attributes = as_object(parse_embedded(spans.get(facts.parent or "", {}).get("attributes")))
    return build_step(_model_facts(facts, {**outer_attributes, **attributes}, _usage(attributes)))


def _name_in_quotes(name: str) -> str:
    """Return the name in `tool: 'find_book'`."""
    match = _QUOTES.search(name)
    return match[1] if match else name


def _model_facts(facts: SpanFacts, attributes: JSONObject, usage: JSONObject) -> SpanFacts:
    facts.output = _answer(facts.output, as_text(attributes.get("finishReason")))
    return add_call(
        facts,
        settings={**as_object(attributes.get("parameters")), **_tools(attributes)},
        model=as_text(first_member(attributes, "responseModel", "model")),
        provider=as_text(attributes.get("provider")).partition(".")[0],
        usage=usage,
    )


def _usage(attributes: JSONObject) -> JSONObject:
    usage = as_object(attributes.get("usage"))
    cache_reads = as_object(usage.get("inputDetails")).get("cacheRead")
    return {**usage, **({"cachedInputTokens": cache_reads} if cache_reads is not None else {})}


def _tools(attributes: JSONObject) -> JSONObject:
    return {"tools": attributes["tools"]} if attributes.get("tools") else {}


def _answer(output: JSONValue, reason: str) -> JSONValue:
    """Return the text and the calls of an answer as a message."""
    body = as_object(output)
    calls = [as_object(call.get("payload")) or call for call in as_objects(body.get("toolCalls"))]
    if "text" not in body and not calls:
        return output
    rest = omit(body, "text", "toolCalls", "reasoning", "reasoningText")
    thought = as_text(first_member(body, "reasoningText", "reasoning"))
    text = as_text(body.get("text"))
    blocks: list[JSONValue] = [{"type": "thinking", "thinking": thought}] if thought else []
    blocks += [{"type": "text", "text": text}] if text else []
    return {
        "role": "assistant",
        "content": blocks if thought else text or None,
        "tool_calls": [*calls],
        **({"finish_reason": reason} if reason else {}),
        **rest,
    }
