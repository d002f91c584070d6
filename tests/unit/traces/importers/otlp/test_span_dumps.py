"""Spans that programs write without an envelope: the objects of SDKs in JavaScript and Go, and plain objects."""

from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.json_access import as_objects
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepStatus, StepType
from traces.importers import registry
from traces.importers.files.source import Source

TRACE, ROOT, CALL = "5a" * 16, "0a" * 8, "0b" * 8
CHAT = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "gpt-4o",
    "gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "content": "Is Dune in stock?"}]}]',
    "gen_ai.usage.input_tokens": 12,
}
EXCEPTION = {"exception.message": "the line is down"}
RESOURCE = {"service.name": "bookshop"}
SCOPE = {"name": "shop.tracer", "version": "2"}


def console_span(id: str, name: str, **fields: Any) -> dict[str, Any]:
    """Return a span as the console exporter of JavaScript's SDK prints it."""
    shared = {"traceId": TRACE, "id": id, "name": name, "resource": {"attributes": RESOURCE}}
    return {"attributes": {}, "events": [], "links": [], "instrumentationScope": SCOPE} | shared | fields


CONSOLE = [
    console_span(ROOT, "agent", timestamp=1_790_000_000_000_000, duration=2_000_000.5, kind=0, status={"code": 0}),
    console_span(
        CALL,
        "chat",
        parentSpanContext={"traceId": TRACE, "spanId": ROOT, "isRemote": False},
        timestamp=1_790_000_000_500_000,
        duration=1_000_000,
        kind=2,
        attributes=CHAT,
        status={"code": 2, "message": "the line is down"},
        events=[{"name": "exception", "attributes": EXCEPTION, "time": [1_790_000_001, 0]}],
    ),
]


def raw_span(span: dict[str, Any]) -> dict[str, Any]:
    """Return a span as the object that JavaScript's SDK has of it."""
    start, length = span["timestamp"], int(span["duration"])
    return {
        "_spanContext": {"traceId": TRACE, "spanId": span["id"], "traceFlags": 1},
        "name": span["name"],
        "kind": span["kind"],
        "startTime": [start // 10**6, start % 10**6 * 1000],
        "_duration": {"0": length // 10**6, "1": length % 10**6 * 1000},
        **{name: span[name] for name in ("attributes", "status", "events", "links", "instrumentationScope")},
        **({"parentSpanContext": span["parentSpanContext"]} if "parentSpanContext" in span else {}),
        "resource": {"_rawAttributes": [["service.name", "bookshop"]], "_asyncAttributesPending": False},
        "_spanLimits": {"attributeCountLimit": 128},
    }


def go_pairs(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"Key": key, "Value": {"Type": "STRING", "Value": value}} for key, value in attributes.items()]


def go_span(span: dict[str, Any], start: str, end: str, parent: str) -> dict[str, Any]:
    """Return a span as Go's exporter to standard output prints it."""
    return {
        "Name": span["name"],
        "SpanContext": {"TraceID": TRACE, "SpanID": span["id"], "TraceState": ""},
        "Parent": {"TraceID": TRACE, "SpanID": parent},
        "SpanKind": span["kind"] + 1,
        "StartTime": start,
        "EndTime": end,
        "Attributes": go_pairs(span["attributes"]) or None,
        "Events": [{"Name": event["name"], "Attributes": go_pairs(EXCEPTION), "Time": end} for event in span["events"]],
        "Status": {"Code": "Error" if span["events"] else "Unset", "Description": span["status"].get("message", "")},
        "Resource": go_pairs(RESOURCE),
        "InstrumentationScope": {"Name": "shop.tracer", "Version": "2", "SchemaURL": ""},
    }


GO = [
    go_span(CONSOLE[0], "2026-09-21T16:13:20+02:00", "2026-09-21T16:13:22.0000005+02:00", "0" * 16),
    go_span(CONSOLE[1], "2026-09-21T16:13:20.5+02:00", "2026-09-21T16:13:21.5+02:00", ROOT),
]


def flat_span(span: dict[str, Any]) -> dict[str, Any]:
    """Return a span as evaluations of Bedrock AgentCore have it."""
    start = span["timestamp"] * 1000
    return {
        "trace_id": TRACE,
        "span_id": span["id"],
        "parent_span_id": span.get("parentSpanContext", {}).get("spanId"),
        "name": span["name"],
        "kind": "CLIENT" if span["kind"] else "INTERNAL",
        "start_time": start,
        "end_time": start + int(span["duration"]) * 1000,
        "attributes": span["attributes"],
        "scope": SCOPE,
        "resource": {"attributes": RESOURCE},
        "status": {"code": "ERROR" if span["events"] else "UNSET", "message": span["status"].get("message")},
        "span_events": [
            {"event_name": "exception", "timestamp": 1_790_000_001 * 10**9, "attributes": EXCEPTION}
            for _ in span["events"]
        ],
    }


def import_spans(data: bytes) -> RecordedRun:
    source = Source(name="spans", data=data)
    (run,) = registry.detect(fixtures.sample("spans", data)).runs([source])
    assert source.problems == []
    return run


def indented(documents: list[dict[str, Any]]) -> bytes:
    return b"\n".join(orjson.dumps(document, option=orjson.OPT_INDENT_2) for document in documents)


@pytest.mark.parametrize(
    "data",
    [
        orjson.dumps(CONSOLE),
        b"listening\n" + indented(CONSOLE) + b"\nbye\n",
        fixtures.json_lines([raw_span(span) for span in CONSOLE]),
        indented([{"spanContext": {"traceId": TRACE}, "_body": "a log record"}, *map(raw_span, CONSOLE)]),
        indented(GO),
        orjson.dumps({"session_id": "s-1", "span_count": 2, "spans": [flat_span(span) for span in CONSOLE]}),
    ],
    ids=["console", "console output", "objects by line", "objects and logs", "Go", "plain"],
)
def test_spans_of_every_form_are_equal(data: bytes) -> None:
    run = import_spans(data)
    root, call = run.steps
    assert (run.app, root.type, root.parent, call.parent) == ("bookshop", StepType.AGENT, None, ROOT)
    assert (call.type, call.model, call.tokens_in) == (StepType.MODEL, "gpt-4o", 12)
    assert call.input == {"messages": [fixtures.REQUEST]}
    assert (root.status, call.status, call.error) == (StepStatus.OK, StepStatus.ERROR, "the line is down")
    names = ("kind", "scope", "scope.version")
    assert [call.attributes.get(name) for name in names] == ["CLIENT", "shop.tracer", "2"]
    (event,) = as_objects(call.attributes["events"])
    assert (event["name"], event["attributes"]) == ("exception", EXCEPTION)
    times = [time.isoformat() if time else None for step in run.steps for time in (step.started_at, step.ended_at)]
    assert times[2:] == ["2026-09-21T14:13:20.500000+00:00", "2026-09-21T14:13:21.500000+00:00"]
    assert times[:2] == ["2026-09-21T14:13:20+00:00", "2026-09-21T14:13:22+00:00"]


def test_calls_in_events_of_a_span_are_read() -> None:
    body = {
        "input": {"messages": [{"role": "user", "content": "Is Dune in stock?"}]},
        "output": {"messages": [{"role": "assistant", "content": "Yes."}]},
    }
    event = {"event_name": "shop.tracer", "timestamp": 1_790_000_001 * 10**9, "body": body}
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o"}
    run = import_spans(orjson.dumps([{**flat_span(CONSOLE[0]), "attributes": attributes, "span_events": [event]}]))
    assert run.steps[0].input == {"messages": [fixtures.REQUEST]}
    assert fixtures.answer_contents(run) == ["Yes."]


@pytest.mark.parametrize("name", ["kind", "span_kind", "type"])
def test_kind_of_a_plain_span_is_that_of_its_step(name: str) -> None:
    span = {**flat_span(CONSOLE[0]), "attributes": {"tool.name": "find"}}
    run = import_spans(orjson.dumps([{**span, name: "tool"}]))
    assert run.steps[0].type is StepType.TOOL
    assert import_spans(orjson.dumps([{**span, name: "agent"}])).steps[0].type is StepType.AGENT


def test_groups_of_spans_in_a_log_of_java_are_read() -> None:
    span = {"traceId": "ab" * 16, "spanId": "cd" * 8, "name": "chat", "startTimeUnixNano": "1772359200000000000"}
    group = {"resource": {"attributes": []}, "scopeSpans": [{"scope": {"name": "x"}, "spans": [span]}]}
    line = fixtures.json_lines([group])
    prefix = b"2026-03-01 10:00:00 INFO io.opentelemetry.exporter.logging.otlp.OtlpJsonLoggingSpanExporter - "
    for data in (line, b"started\n" + prefix + line + b"\n"):
        ((run,), problems) = fixtures.detect_and_read("otlp", data)
        assert ([step.key for step in run.steps], problems) == (["cd" * 8], [])


def test_events_of_a_span_are_one_step() -> None:
    names = {
        "request.messages": [fixtures.REQUEST],
        "request.model": "m",
        "response.content": "Yes.",
        "usage.input_tokens": 9,
    }
    start = {"trace_id": "t", "span_id": "a", "name": "llm", "kind": "llm", "start_time": "2026-03-01T10:00:00Z"}
    end = {**start, "end_time": "2026-03-01T10:00:01Z", "attributes": {f"llm.{name}": names[name] for name in names}}
    tool = {"function.name": "find_book", "function.input": {"title": "Dune"}, "function.output": "3 copies"}
    call = {**end, "span_id": "b", "name": "tool.x", "kind": "tool", "attributes": tool}
    events = [("start", {**start, "end_time": None, "attributes": {}}), ("end", end), ("end", call)]
    ((run,), problems) = fixtures.detect_and_read(
        "otlp", fixtures.json_lines([{"event": event, "span": span} for event, span in events])
    )
    model, step = run.steps
    assert (fixtures.request_contents(model), fixtures.answer_contents(run), model.tokens_in) == (
        ["Is Dune in stock?"],
        ["Yes."],
        9,
    )
    assert (step.tool_name, step.input, step.output, problems) == ("find_book", {"title": "Dune"}, "3 copies", [])
