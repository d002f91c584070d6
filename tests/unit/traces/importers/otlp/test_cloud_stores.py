"""Traces as monitoring exports them: CloudWatch, Application Insights, Google Cloud Trace, Genkit."""

import csv
import io
from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.json_types import JSONObject
from traces.core.vocabulary import StepStatus, StepType

AGENTCORE = [record.value for record in fixtures.source("agentcore.jsonl").records()]
ROWS: Any = fixtures.source("app_insights.json").value
COLUMNS = sorted({name for row in ROWS for name in row})
WORKSPACE = {
    "timestamp": "TimeGenerated",
    "id": "Id",
    "operation_Id": "OperationId",
    "operation_ParentId": "ParentId",
    "name": "Name",
    "duration": "DurationMs",
    "success": "Success",
    "customDimensions": "Properties",
    "cloud_RoleName": "AppRoleName",
    "type": "DependencyType",
    "outerMessage": "OuterMessage",
}


def as_table(rows: list[dict[str, Any]]) -> bytes:
    target = io.StringIO()
    writer = csv.DictWriter(target, [*dict.fromkeys(name for row in rows for name in row)])
    writer.writeheader()
    writer.writerows(rows)
    return target.getvalue().encode()


def log_events(name: str) -> list[dict[str, Any]]:
    return [{"@timestamp": "2026-01-01 00:00:00.000", name: orjson.dumps(value).decode()} for value in AGENTCORE]


def query_result() -> dict[str, Any]:
    rows = [[{"field": field, "value": value} for field, value in row.items()] for row in log_events("@message")]
    return {"results": rows, "status": "Complete"}


def tables() -> dict[str, Any]:
    columns = [{"name": name, "type": "string"} for name in COLUMNS]
    rows = [[row.get(name) for name in COLUMNS] for row in ROWS]
    return {"tables": [{"name": "PrimaryResult", "columns": columns, "rows": rows}]}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("agentcore.jsonl", orjson.dumps({"events": log_events("message"), "nextToken": "t"})),
        ("agentcore.jsonl", orjson.dumps(query_result())),
        ("agentcore.jsonl", as_table(log_events("@message"))),
        ("app_insights.json", orjson.dumps(tables())),
        ("app_insights.json", as_table(ROWS)),
        ("app_insights.json", fixtures.json_lines(ROWS[::-1])),
    ],
    ids=["log events", "query", "query as CSV", "tables", "CSV", "lines, newest first"],
)
def test_shape_of_export_does_not_matter(name: str, data: bytes) -> None:
    (run,), problems = fixtures.detect_and_read("otlp", data)
    assert problems == []
    assert run.steps == fixtures.run(name).steps


def test_agentcore_joins_messages_of_logs() -> None:
    agent, model, tool = fixtures.run("agentcore.jsonl").steps
    assert isinstance(model.input, dict)
    assert model.input["messages"] == [{"content": "You keep a bookshop.", "role": "system"}, fixtures.REQUEST]
    assert (tool.call_id, tool.input, tool.output) == ("tooluse_1", {"title": "Dune"}, [{"text": "3 copies"}])
    assert "Yes, three copies." in str(agent.output)


def test_exception_of_app_insights_is_error_of_its_call() -> None:
    tool = fixtures.run("app_insights.json").steps[2]
    assert (tool.type, tool.status, tool.error) == (StepType.TOOL, StepStatus.ERROR, "no index")


def test_workspace_names_its_columns_differently() -> None:
    rows = [{WORKSPACE.get(name, name): value for name, value in row.items()} for row in ROWS]
    (run,), _ = fixtures.detect_and_read("otlp", orjson.dumps(rows))
    keys = [(step.key, step.parent, step.started_at, step.ended_at, step.error) for step in run.steps]
    stored = fixtures.run("app_insights.json").steps
    assert keys == [(step.key, step.parent, step.started_at, step.ended_at, step.error) for step in stored]
    assert run.app == "bookshop"


def test_cloud_trace_spans_of_both_versions() -> None:
    document: Any = fixtures.source("cloud_trace.json").value
    spans = [new_span(document["traceId"], span) for span in document["spans"]]
    (run,), _ = fixtures.detect_and_read("otlp", orjson.dumps({"spans": spans}))
    old = fixtures.run("cloud_trace.json")
    assert [(step.key, step.model, step.tokens_in, step.output) for step in run.steps] == [
        (step.key, step.model, step.tokens_in, step.output) for step in old.steps
    ]


def new_span(trace_id: str, span: dict[str, Any]) -> JSONObject:
    """Return a span of version 1 as version 2 has it."""
    values: Any = {
        name: {"intValue": value} if value.isdecimal() else {"stringValue": {"value": value}}
        for name, value in span["labels"].items()
    }
    ids = {name: f"{int(span[name]):016x}" for name in ("spanId", "parentSpanId") if name in span}
    members = {name: value for name, value in span.items() if name not in ("labels", "kind")} | ids
    return {
        **members,
        "name": f"projects/bookshop-1/traces/{trace_id}/spans/{ids['spanId']}",
        "displayName": {"value": span["name"]},
        "attributes": {"attributeMap": values},
    }


def log_entry(name: str, payload: Any, **labels: str) -> Any:
    ids = {"trace": "projects/bookshop-1/traces/4f1d6b2d7a3c4e5f8a9b0c1d2e3f4a5b", "spanId": "000000000000002a"}
    entry = {"insertId": name, "logName": f"projects/bookshop-1/logs/{name}", "timestamp": "2026-01-01T00:00:01Z"}
    return {**entry, **ids, "labels": labels, "jsonPayload": payload}


def test_entries_of_cloud_logging_are_events_of_spans() -> None:
    trace: Any = fixtures.source("cloud_trace.json").value
    names = ("gen_ai.input.messages", "gen_ai.output.messages")
    messages: Any = {name: orjson.loads(trace["spans"][1]["labels"].pop(name)) for name in names}
    details = log_entry("otel", messages, **{"event.name": "gen_ai.client.inference.operation.details"})
    question = log_entry("gen_ai.user.message", {"content": "Is Dune in stock?"})
    choice = log_entry("gen_ai.choice", {"index": 0, "message": {"content": "Yes"}, "finish_reason": "STOP"})
    stored = fixtures.steps(fixtures.run("cloud_trace.json"), StepType.MODEL)[0]
    (run,) = fixtures.read("otlp", [trace], [details])
    assert [(step.input, step.output) for step in fixtures.steps(run, StepType.MODEL)] == [
        (stored.input, stored.output)
    ]
    (run,) = fixtures.read("otlp", [trace], [question, choice])
    (step,) = fixtures.steps(run, StepType.MODEL)
    assert fixtures.request_contents(step) == ["Is Dune in stock?"]
    assert step.output == {"message": {"role": "assistant", "content": "Yes"}, "finish_reason": "stop"}


def test_payloads_of_cloud_logging_may_be_spans() -> None:
    span = {
        "name": "call_llm",
        "context": {"trace_id": "0x4f1d6b2d7a3c4e5f8a9b0c1d2e3f4a5b", "span_id": "0x000000000000002a"},
        "start_time": "2026-01-01T00:00:01Z",
        "end_time": "2026-01-01T00:00:02Z",
        "attributes": {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gemini-2.5-pro"},
    }
    entry = {"logName": "projects/bookshop-1/logs/clerk", "insertId": "1", "jsonPayload": span}
    ((run,), problems) = fixtures.detect_and_read("otlp", orjson.dumps({"entries": [entry]}))
    assert (run.external_id, run.steps[0].key, problems) == ("4f1d6b2d7a3c4e5f8a9b0c1d2e3f4a5b", "000000000000002a", [])
    assert run.steps[0].model == "gemini-2.5-pro"


def test_genkit_models_tools_and_parameters() -> None:
    run = fixtures.run("genkit.json")
    first, second = fixtures.steps(run, StepType.MODEL)
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert isinstance(first.input, dict)
    assert first.input["parameters"] == {"temperature": 0.5}
    assert (first.provider, first.model, first.tokens_in, first.tokens_out) == ("google", "gemini-2.5-flash", 40, 8)
    assert (tool.call_id, tool.input, tool.output) == ("call_1", {"title": "Dune"}, "3 copies")
    assert fixtures.request_contents(second)[-1] == "3 copies"


@pytest.mark.parametrize("is_page", [False, True])
def test_segments_of_xray_are_spans(is_page: bool) -> None:
    def segment(id: str, attributes: Any, **fields: Any) -> dict[str, Any]:
        times = {"start_time": 1_772_359_200.5, "end_time": 1_772_359_201.5}
        ids = {"id": id * 16, "trace_id": f"1-69a41ba0-{'a' * 24}"}
        return {"name": "span", **ids, **times, "metadata": {"default": attributes}, **fields}

    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find"}
    cause = {"exceptions": [{"id": "e1", "type": "ValueError", "message": "no shelf"}]}
    inner = segment("3", tool, fault=True, cause=cause)
    agent = {"gen_ai.operation.name": "invoke_agent", "otel.resource.service.name": "shop"}
    segments = [segment("1", agent), segment("2", {}, parent_id="1" * 16, subsegments=[inner])]
    parts = [{"Id": item["id"], "Document": orjson.dumps(item).decode()} for item in segments]
    data = (
        orjson.dumps({"Traces": [{"Id": "1-69a41ba0", "Segments": parts}]})
        if is_page
        else fixtures.json_lines(segments)
    )
    ((run,), _) = fixtures.detect_and_read("otlp", data)
    assert (run.app, run.external_id) == ("shop", "69a41ba0" + "a" * 24)
    assert [(step.key[0], step.parent and step.parent[0], step.error) for step in run.steps] == [
        ("1", None, ""),
        ("2", "1", ""),
        ("3", "2", "no shelf"),
    ]
