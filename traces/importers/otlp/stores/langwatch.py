"""Traces of LangWatch, as its collector takes them and its API returns them.

{"trace_id", "metadata", "spans": [{"span_id", "type", "input": {"type", "value"}, "timestamps", …}], "evaluations"}
"""

from collections.abc import Iterator
from typing import Final

import orjson

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item

_KINDS: Final = {
    **dict.fromkeys(("workflow", "task", "component", "module"), "CHAIN"),
    "rag": "RETRIEVER",
    "evaluation": "EVALUATOR",
}
# Kinds of OpenTelemetry, and spans of which nothing is known.
_NO_KINDS: Final = frozenset({"span", "unknown", "server", "client", "producer", "consumer"})
_SPAN_FIELDS: Final = frozenset(
    {"span_id", "trace_id", "parent_id", "type", "name", "input", "output", "outputs", "error", "timestamps", "metrics"}
    | {"params", "vendor", "model", "contexts"}
)


def is_trace(body: JSONObject) -> bool:
    span = as_object(first_item(body.get("spans")))
    return "trace_id" in {**span, **body} and {"span_id", "timestamps"} <= span.keys()


def documents(trace: JSONObject) -> Iterator[JSONObject]:
    """Yield the spans of a trace as documents; the outermost one has what is known of the trace."""
    spans = as_objects(trace["spans"])
    root = next((span for span in spans if not span.get("parent_id")), spans[0])
    for span in spans:
        times, error = as_object(span.get("timestamps")), as_object(span.get("error"))
        yield {
            "context": {
                "trace_id": first_member(span, "trace_id") or trace.get("trace_id"),
                "span_id": span.get("span_id"),
            },
            "parent_id": span.get("parent_id"),
            "name": first_member(span, "name", "type"),
            "start_time": times.get("started_at"),
            "end_time": times.get("finished_at"),
            "status_code": "ERROR" if error else "",
            "status_message": error.get("message"),
            "attributes": {**_attributes(span, times, error), **(_trace_attributes(trace) if span is root else {})},
            "annotations": [*map(_annotation, as_objects(trace.get("evaluations")))] if span is root else [],
        }


def _attributes(span: JSONObject, times: JSONObject, error: JSONObject) -> JSONObject:
    kind, metrics = as_text(span.get("type")), as_object(span.get("metrics"))
    request, parameters = _value(span.get("input")), as_object(span.get("params"))
    is_model = kind == "llm"
    if is_model and request is not None:
        request = orjson.dumps({"messages" if isinstance(request, list) else "prompt": request, **parameters}).decode()
    values: JSONObject = {
        "openinference.span.kind": "" if kind in _NO_KINDS else _KINDS.get(kind, kind.upper()),
        "input.value": request,
        "output.value": _value(first_member(span, "output") or first_item(span.get("outputs"))),
        "llm.model_name": span.get("model"),
        "llm.provider": span.get("vendor"),
        "gen_ai.usage.input_tokens": metrics.get("prompt_tokens"),
        "gen_ai.usage.output_tokens": metrics.get("completion_tokens"),
        "llm.cost.total": metrics.get("cost"),
        "retrieval.documents": [*map(_document, as_list(span.get("contexts")))],
        "params": None if is_model else parameters,
        "first_token_at": times.get("first_token_at"),
        "stacktrace": error.get("stacktrace"),
        **omit(span, *_SPAN_FIELDS),
    }
    return {name: value for name, value in values.items() if value not in (None, "", [], {})}


def _value(typed_value: JSONValue) -> JSONValue:
    """Return a value without its type; a list has values with types of their own."""
    body = as_object(typed_value)
    value = body.get("value")
    return [_value(item) for item in as_list(value)] if body.get("type") == "list" else value


def _document(context: JSONValue) -> JSONObject:
    fields = as_object(context) or {"content": context}
    names = {"document.content": "content", "document.id": "document_id", "document.metadata": "chunk_id"}
    document: JSONObject = {name: fields[field] for name, field in names.items() if fields.get(field)}
    if "document.metadata" in document:
        document["document.metadata"] = {"chunk_id": document["document.metadata"]}
    return document


def _trace_attributes(trace: JSONObject) -> JSONObject:
    metadata = as_object(trace.get("metadata"))
    values: JSONObject = {
        "session.id": metadata.get("thread_id"),
        "user.id": metadata.get("user_id"),
        "tag.tags": metadata.get("labels"),
        "metadata": omit(metadata, "thread_id", "user_id", "labels"),
    }
    return {name: value for name, value in values.items() if value not in (None, "", [], {})}


def _annotation(evaluation: JSONObject) -> JSONObject:
    verdict = "passed" if evaluation.get("passed") else "failed" if evaluation.get("passed") is False else None
    return {
        "name": first_member(evaluation, "name", "evaluator_id"),
        "result": {
            "score": evaluation.get("score"),
            "label": first_member(evaluation, "label") or verdict,
            "explanation": first_member(evaluation, "details", "error"),
        },
        "annotator_kind": evaluation.get("evaluator_id"),
    }
