"""Transactions of Sentry with the spans of its AI monitoring, as events of its API and of its clients.

{"contexts": {"trace": {"trace_id", "span_id", "op", "data"}}, "spans": [{"span_id", "op", "data", …}], …}
"""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_list
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.json_reader import parse_embedded

_OPERATION: Final = "gen_ai."
_OPERATION_NAME: Final = "gen_ai.operation.name"
_OK: Final = ("", "ok", "unset")
# Sentry's own names of what OpenTelemetry has names for.
_NAMES: Final = {
    "gen_ai.request.messages": "gen_ai.input.messages",
    "gen_ai.request.available_tools": "gen_ai.tool.definitions",
    "gen_ai.tool.input": "gen_ai.tool.call.arguments",
    "gen_ai.tool.output": "gen_ai.tool.call.result",
}
_TEXT: Final = "gen_ai.response.text"
_CALLS: Final = "gen_ai.response.tool_calls"


def is_transaction(body: JSONObject) -> bool:
    trace = as_object(as_object(body.get("contexts")).get("trace"))
    return {"trace_id", "span_id"} <= trace.keys() and has_list(body, "spans")


def documents(transaction: JSONObject) -> Iterator[JSONObject]:
    """Yield the spans of a transaction as documents, beginning with its own."""
    trace = as_object(as_object(transaction["contexts"])["trace"])
    resource: JSONObject = {
        name: value
        for name, field in (("deployment.environment", "environment"), ("service.version", "release"))
        if (value := transaction.get(field))
    }
    own: JSONObject = {**transaction, **trace, "description": transaction.get("transaction")}
    for span in (own, *as_objects(transaction["spans"])):
        yield _document({"trace_id": trace["trace_id"], **span}, resource)


def _document(span: JSONObject, resource: JSONObject) -> JSONObject:
    status = as_text(span.get("status"))
    return {
        "context": {"trace_id": span["trace_id"], "span_id": span.get("span_id")},
        "parent_id": span.get("parent_span_id"),
        "name": first_member(span, "description", "op"),
        "start_time": span.get("start_timestamp"),
        "end_time": span.get("timestamp"),
        "status_code": "" if status in _OK else "ERROR",
        "status_message": "" if status in _OK else status,
        "attributes": _attributes(as_text(span.get("op")), as_object(span.get("data"))),
        "resource": resource,
    }


def _attributes(operation: str, data: JSONObject) -> JSONObject:
    """Return the data of a span under the names of OpenTelemetry."""
    attributes: JSONObject = {_NAMES.get(name, name): value for name, value in data.items()}
    if operation.startswith(_OPERATION):
        attributes.setdefault(_OPERATION_NAME, operation.removeprefix(_OPERATION))
    if not (data.get(_TEXT) or data.get(_CALLS)) or "gen_ai.output.messages" in data:
        return attributes
    texts = parse_embedded(attributes.pop(_TEXT, None))
    calls = as_list(parse_embedded(attributes.pop(_CALLS, None)))
    text = "\n".join(map(as_text, texts)) if isinstance(texts, list) else texts
    answer: JSONValue = {"role": "assistant", "content": text or None, "tool_calls": calls}
    return {**attributes, "gen_ai.output.messages": [answer]}
