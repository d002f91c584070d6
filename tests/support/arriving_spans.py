"""OTLP requests of small traces, as an instrumented agent exports them."""

from base64 import b64encode
from typing import Any, Final

import orjson
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

TRACE: Final = "5b8efff798038103d269b633813fc60c"
ROOT, MODEL, TOOL = "eee19b7ec3c1b174", "eee19b7ec3c1b175", "eee19b7ec3c1b176"
_START: Final = 1_772_359_200_000_000_000
_SECOND: Final = 1_000_000_000
Span = dict[str, Any]


def span(id: str, name: str, *, parent: str = "", trace: str = TRACE, second: int = 0, **attributes: object) -> Span:
    """A span in the JSON of OTLP; double underscores in names of attributes stand for points."""
    return {
        "traceId": trace,
        "spanId": id,
        "parentSpanId": parent,
        "name": name,
        "startTimeUnixNano": str(_START + second * _SECOND),
        "endTimeUnixNano": str(_START + (second + 1) * _SECOND),
        "attributes": [
            {"key": key.replace("__", "."), "value": {"stringValue": str(value)}} for key, value in attributes.items()
        ],
    }


def root(trace: str = TRACE) -> Span:
    return span(ROOT, "handle order", trace=trace, openinference__span__kind="AGENT", input__value="Where is my order?")


def model(trace: str = TRACE) -> Span:
    return span(
        MODEL,
        "chat",
        parent=ROOT,
        trace=trace,
        second=1,
        openinference__span__kind="LLM",
        llm__model_name="m1",
        llm__input_messages__0__message__role="user",
        llm__input_messages__0__message__content="Where is my order?",
        llm__output_messages__0__message__role="assistant",
        llm__output_messages__0__message__content="On its way.",
    )


def tool(trace: str = TRACE) -> Span:
    return span(
        TOOL,
        "get_order",
        parent=ROOT,
        trace=trace,
        second=2,
        openinference__span__kind="TOOL",
        tool__name="get_order",
        input__value='{"id": "A1"}',
        output__value='{"status": "sent"}',
    )


def request(*spans: Span, service: str = "desk") -> bytes:
    """An export request in JSON."""
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]}
    return orjson.dumps(
        {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {}, "spans": list(spans)}]}]}
    )


def protobuf(body: bytes) -> bytes:
    """The same request in protobuf."""
    document = orjson.loads(body)
    for scope in (scope for group in document["resourceSpans"] for scope in group["scopeSpans"]):
        for item in scope["spans"]:
            for name in ("traceId", "spanId", "parentSpanId"):
                # protobuf's own JSON form has ids in base64
                item[name] = b64encode(bytes.fromhex(item[name])).decode()
    message = json_format.ParseDict(document, ExportTraceServiceRequest())
    data: bytes = message.SerializeToString()
    return data
