"""Traces as stores export them: Jaeger, Zipkin, Tempo, AgentOps, ClickHouse."""

from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepStatus, StepType
from traces.importers import registry
from traces.importers.files.source import Source

TRACE = "4f1d6b2d7a3c4e5f8a9b0c1d2e3f4a5b"
START = 1_767_225_600_000_000  # microseconds
CALL = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "gpt-4o",
    "gen_ai.input.messages": '[{"role":"user","parts":[{"type":"text","content":"Is Dune in stock?"}]}]',
    "gen_ai.output.messages": '[{"role":"assistant","parts":[{"type":"text","content":"Yes"}]}]',
}
USAGE = {"gen_ai.usage.input_tokens": 12, "gen_ai.usage.output_tokens": 4}


def import_value(value: Any) -> RecordedRun:
    data = orjson.dumps(value)
    source = Source(name="export", data=data)
    (run,) = registry.detect(fixtures.sample("export", data)).runs([source])
    assert not source.problems
    return run


def jaeger_tags(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "type": type(value).__name__, "value": value} for key, value in values.items()]


def jaeger_span(number: int, parent: int, name: str, tags: dict[str, Any], **members: Any) -> dict[str, Any]:
    reference = {"refType": "CHILD_OF", "traceID": TRACE, "spanID": f"{parent:016x}"}
    return {
        "traceID": TRACE,
        "spanID": f"{number:016x}",
        "operationName": name,
        "references": [reference] if parent else [],
        "startTime": START + number,
        "duration": 1_000_000,
        "tags": jaeger_tags(tags),
        "processID": "p1",
        **members,
    }


def jaeger_trace() -> dict[str, Any]:
    log = {"timestamp": START, "fields": jaeger_tags({"event": "exception", "exception.message": "no index"})}
    spans = [
        jaeger_span(1, 0, "shop", {"span.kind": "server"}),
        jaeger_span(2, 1, "chat gpt-4o", {**CALL, **USAGE, "span.kind": "client"}),
        jaeger_span(3, 1, "find", {"gen_ai.operation.name": "execute_tool", "error": True}, logs=[log]),
    ]
    processes = {"p1": {"serviceName": "bookshop", "tags": jaeger_tags({"host.name": "till"})}}
    return {"traceID": TRACE, "spans": spans, "processes": processes}


def zipkin_span(number: int, parent: int, tags: dict[str, Any]) -> dict[str, Any]:
    return {
        "traceId": TRACE,
        "id": f"{number:016x}",
        **({"parentId": f"{parent:016x}"} if parent else {}),
        "name": "chat gpt-4o",
        "kind": "CLIENT",
        "timestamp": START + number,
        "duration": 1_000_000,
        "localEndpoint": {"serviceName": "bookshop"},
        "tags": tags,
    }


def otlp_spans(scope: str) -> list[dict[str, Any]]:
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in CALL.items()]
    attributes += [{"key": key, "value": {"intValue": str(value)}} for key, value in USAGE.items()]
    span = {
        "traceId": "Tx1rLXo8Tl+KmwwdLj9KWw==",
        "spanId": "AAAAAAAAAAI=",
        "name": "chat gpt-4o",
        "startTimeUnixNano": str(START * 1000),
        "endTimeUnixNano": str((START + 1_000_000) * 1000),
        "attributes": attributes,
    }
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "bookshop"}}]}
    return [{"resource": resource, f"{scope}Spans": [{scope: {"name": "tracer"}, "spans": [span]}]}]


def agentops_trace() -> dict[str, Any]:
    attributes = {
        "gen_ai": {
            "request": {"model": "gpt-4o"},
            "prompt": [{"role": "user", "content": "Is Dune in stock?"}],
            "completion": [{"role": "assistant", "content": "Yes"}],
            "usage": {"prompt_tokens": 12, "completion_tokens": 4},
        }
    }
    span = {
        "span_id": "02",
        "span_name": "chat gpt-4o",
        "start_time": "2026-01-01T00:00:00Z",
        "end_time": "2026-01-01T00:00:01Z",
        "service_name": "bookshop",
        "span_attributes": attributes,
    }
    return {"trace_id": TRACE, "spans": [span]}


def clickhouse_row() -> dict[str, Any]:
    return {
        "TraceId": TRACE,
        "SpanId": "02",
        "ParentSpanId": "",
        "SpanName": "chat gpt-4o",
        "SpanKind": "Client",
        "Timestamp": "2026-01-01 00:00:00.000000000",
        "Duration": "1000000000",
        "StatusCode": "Ok",
        "ServiceName": "bookshop",
        "SpanAttributes": {**CALL, **{key: str(value) for key, value in USAGE.items()}},
    }


@pytest.mark.parametrize(
    "export",
    [
        {"data": [jaeger_trace()], "total": 0},
        [zipkin_span(2, 0, {**CALL, **{key: str(value) for key, value in USAGE.items()}})],
        [[zipkin_span(2, 0, CALL | {key: str(value) for key, value in USAGE.items()})]],
        {"batches": otlp_spans("scope")},
        {"batches": otlp_spans("instrumentationLibrary")},
        {"trace": {"resourceSpans": otlp_spans("scope")}},
        agentops_trace(),
        [clickhouse_row()],
    ],
    ids=["jaeger", "zipkin", "zipkin traces", "tempo", "old tempo", "tempo 2", "agentops", "clickhouse"],
)
def test_exports_contain_model_calls(export: Any) -> None:
    run = import_value(export)
    (step,) = fixtures.steps(run, StepType.MODEL)
    assert (run.external_id, run.app) == (TRACE, "bookshop")
    assert (step.name, step.model, step.tokens_in, step.tokens_out) == ("chat gpt-4o", "gpt-4o", 12, 4)
    assert step.input == {"messages": [{"role": "user", "content": "Is Dune in stock?"}]}
    assert step.output == {"message": {"role": "assistant", "content": "Yes"}}
    assert step.started_at
    assert step.ended_at
    assert (step.ended_at - step.started_at).total_seconds() == 1


def test_jaeger_keeps_tree_and_errors() -> None:
    run = import_value(jaeger_trace())
    root, _, tool = run.steps
    assert (tool.parent, tool.status, tool.error) == (root.key, StepStatus.ERROR, "no index")
    assert "till" in str(run.metadata)


def test_zipkin_error_tag_is_message() -> None:
    run = import_value([zipkin_span(1, 0, {}), zipkin_span(2, 1, {"gen_ai.tool.name": "find", "error": "no index"})])
    assert (run.steps[1].parent, run.steps[1].error) == (run.steps[0].key, "no index")
