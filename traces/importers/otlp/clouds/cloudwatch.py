"""CloudWatch: spans of `aws/spans` and log records of agents on Bedrock AgentCore, as their log events contain them.

Both look like OTLP without its envelope, with plain attributes. Strands and LangChain write the messages of a span as
a log record with `input` and `output`.
"""

from typing import Final

from traces.core.json_access import as_object, as_objects, as_text, first_member, has_list
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.log_events import event_messages

_IDS: Final = frozenset({"traceId", "spanId"})
DETAILS: Final = "gen_ai.client.inference.operation.details"


def is_span(body: JSONObject) -> bool:
    return _IDS | {"startTimeUnixNano", "name"} <= body.keys() and not has_list(body, "attributes")


def is_log(body: JSONObject) -> bool:
    return _IDS | {"body", "severityNumber"} <= body.keys() and not has_list(body, "attributes")


def log_events(value: JSONValue) -> list[JSONValue]:
    """Return the spans and logs in a log event, a page of these, or the result of a query; empty for anything else."""
    return [message for message in event_messages(value) if is_span(message) or is_log(message)]


def span_document(span: JSONObject) -> JSONObject:
    status = as_object(span.get("status"))
    return {
        "context": {"trace_id": span["traceId"], "span_id": span["spanId"], "trace_state": span.get("traceState")},
        "parent_id": span.get("parentSpanId"),
        "name": span["name"],
        "kind": f"SpanKind.{as_text(span.get('kind'))}",
        "start_time": span["startTimeUnixNano"],
        "end_time": span.get("endTimeUnixNano"),
        "status_code": status.get("code"),
        "status_message": status.get("message"),
        "attributes": span.get("attributes"),
        "scope": span.get("scope"),
        "events": [
            {**event, "timestamp": first_member(event, "timeUnixNano", "timestamp")}
            for event in as_objects(span.get("events"))
        ],
        "links": [
            {"context": {"trace_id": link.get("traceId"), "span_id": link.get("spanId")}, **link}
            for link in as_objects(span.get("links"))
        ],
        "resource": span.get("resource"),
    }


def log_document(record: JSONObject) -> JSONObject:
    """Return a record as OpenTelemetry for Python writes one; messages of a whole call become its event."""
    body, attributes = as_object(record["body"]), as_object(record.get("attributes"))
    is_record_of_call = is_call(body)
    return {
        "trace_id": record["traceId"],
        "span_id": record["spanId"],
        "severity_number": record["severityNumber"],
        "body": call_attributes(body) if is_record_of_call else record["body"],
        "attributes": {**attributes, **({"event.name": DETAILS} if is_record_of_call else {})},
        "timestamp": record.get("timeUnixNano") or record.get("observedTimeUnixNano"),
        "resource": record.get("resource"),
    }


def is_call(body: JSONObject) -> bool:
    """Return whether the body of a record is a whole call."""
    return any(has_list(body.get(name), "messages") for name in ("input", "output"))


def call_attributes(body: JSONObject) -> JSONObject:
    """Return a call as attributes: the arguments and result of a tool, messages of anything else."""
    requests, answers = (as_objects(as_object(body.get(name)).get("messages")) for name in ("input", "output"))
    request, answer = (as_object(next(iter(group), {}).get("content")) for group in (requests, answers))
    if request.get("role") == "tool" and "id" in answer:
        return {
            "gen_ai.tool.call.id": answer["id"],
            "gen_ai.tool.call.arguments": request.get("content"),
            "gen_ai.tool.call.result": parse_embedded(answer.get("message")),
        }
    return {
        "gen_ai.input.messages": [*map(_message, requests)],
        "gen_ai.output.messages": [*map(_message, answers)],
    }


def _message(message: JSONObject) -> JSONObject:
    """Return a message with its content, which is a text or JSON in an object beside other facts."""
    holder = as_object(message.get("content"))
    content = first_member(holder, "content", "message") if holder else message.get("content")
    blocks = parse_embedded(content)
    details = {name: value for name, value in holder.items() if name not in ("content", "message", "role")}
    return {**message, "content": blocks if isinstance(blocks, list) else content, **details}
