"""Genkit: traces of its developer tools, an object with the spans by their ids.

What a span got and gave are its attributes `genkit:input` and `genkit:output`; those of a model are a request and an
answer in Genkit's own form.
"""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, has_object
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.json_reader import parse_embedded

_INPUT: Final = "genkit:input"
_OUTPUT: Final = "genkit:output"
_NAME: Final = "genkit:name"
_TYPES: Final = ("genkit:metadata:subtype", "genkit:type")
_KINDS: Final = {"model": "LLM", "tool": "TOOL", "retriever": "RETRIEVER", "embedder": "EMBEDDING"}
_ROLES: Final = {"model": "assistant"}
_ERROR_CODE: Final = 2


def is_trace(body: JSONObject) -> bool:
    """Return whether an object is a trace, of which any span has Genkit's attributes."""
    return "traceId" in body and any(
        has_object(span, "attributes") and any(name.startswith("genkit:") for name in as_object(span["attributes"]))
        for span in _spans(body)[:20]
    )


def documents(trace: JSONObject) -> Iterator[JSONObject]:
    return map(_document, _spans(trace))


def _spans(trace: JSONObject) -> list[JSONObject]:
    return as_objects([*as_object(trace.get("spans")).values()])


def _document(span: JSONObject) -> JSONObject:
    attributes, status = as_object(span.get("attributes")), as_object(span.get("status"))
    kind = next((_KINDS[name] for key in _TYPES if (name := as_text(attributes.get(key))) in _KINDS), "CHAIN")
    names = (_INPUT, _OUTPUT, _NAME, "genkit:error")
    rest = {name: value for name, value in attributes.items() if name not in names}
    facts = _model(attributes) if kind == "LLM" else _payloads(attributes, kind)
    return {
        "context": {"trace_id": span.get("traceId"), "span_id": span.get("spanId")},
        "parent_id": span.get("parentSpanId"),
        "name": attributes.get(_NAME) or span.get("displayName"),
        "kind": f"SpanKind.{as_text(span.get('spanKind'))}",
        "start_time": span.get("startTime"),
        "end_time": span.get("endTime"),
        "status_code": "ERROR" if status.get("code") == _ERROR_CODE or attributes.get("genkit:error") else "",
        "status_message": attributes.get("genkit:error") or status.get("message"),
        "attributes": {**rest, "openinference.span.kind": kind, **facts},
        "events": [
            {"name": as_object(event.get("annotation")).get("description"), "timestamp": event.get("time")}
            | {"attributes": as_object(event.get("annotation")).get("attributes")}
            for event in as_objects(as_object(span.get("timeEvents")).get("timeEvent"))
        ],
        "resource": {},
    }


def _payloads(attributes: JSONObject, kind: str) -> JSONObject:
    tool: JSONObject = {"tool.name": attributes.get(_NAME)} if kind == "TOOL" else {}
    payloads = {"input.value": attributes.get(_INPUT), "output.value": attributes.get(_OUTPUT)}
    return tool | {name: value for name, value in payloads.items() if value is not None}


def _model(attributes: JSONObject) -> JSONObject:
    """Return the request and the answer of a model, and its tokens, as attributes of OpenTelemetry's conventions."""
    request = as_object(parse_embedded(attributes.get(_INPUT)))
    answer = as_object(parse_embedded(attributes.get(_OUTPUT)))
    provider, _, model = as_text(attributes.get(_NAME)).rpartition("/")
    usage, message = as_object(answer.get("usage")), as_object(answer.get("message"))
    output: JSONObject = {**_message(message), "finish_reason": answer.get("finishReason")}
    facts: JSONObject = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": model,
        "gen_ai.input.messages": [_message(item) for item in as_objects(request.get("messages"))],
        "gen_ai.tool.definitions": _tools(request),
        "gen_ai.output.messages": [output] if message else None,
        "gen_ai.response.finish_reasons": [answer["finishReason"]] if answer.get("finishReason") else None,
        "gen_ai.usage.input_tokens": usage.get("inputTokens"),
        "gen_ai.usage.output_tokens": usage.get("outputTokens"),
        "genkit.usage": {name: count for name, count in usage.items() if name not in ("inputTokens", "outputTokens")},
        "llm.invocation_parameters": request.get("config"),
    }
    return {name: value for name, value in facts.items() if value not in (None, "", [], {})}


def _tools(request: JSONObject) -> list[JSONValue]:
    return [
        {"name": tool.get("name"), "description": tool.get("description"), "parameters": tool.get("inputSchema")}
        for tool in as_objects(request.get("tools"))
    ]


def _message(message: JSONObject) -> JSONObject:
    role = as_text(message.get("role"))
    return {
        "role": _ROLES.get(role, role),
        "parts": [_part(as_object(part)) for part in as_list(message.get("content"))],
    }


def _part(part: JSONObject) -> JSONObject:
    """Return a part in the form of OpenTelemetry's conventions."""
    call, result = as_object(part.get("toolRequest")), as_object(part.get("toolResponse"))
    if call:
        return {"type": "tool_call", "id": _id(call), "name": call.get("name"), "arguments": call.get("input") or {}}
    if result:
        return {"type": "tool_call_response", "id": _id(result), "response": result.get("output")}
    if "reasoning" in part:
        return {"type": "reasoning", "content": part["reasoning"]}
    return {"type": "text", "content": part["text"]} if "text" in part else part


def _id(call: JSONObject) -> JSONValue:
    """Return the id of a call. Without one, results belong to the call of their tool."""
    return call.get("ref") or call.get("name")
