"""The same spans as Elasticsearch, OpenSearch, Honeycomb and SigNoz store them."""

import csv
import io
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import StepStatus, StepType
from traces.importers import registry
from traces.importers.files.errors import BadFile

TRACE = "cd" * 16
CALL_PART = {"type": "tool_call", "id": "call_1", "name": "find_book", "arguments": {"title": "Dune"}}
CHAT = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "gpt-5",
    "gen_ai.input.messages": json.dumps(
        [{"role": "user", "parts": [{"type": "text", "content": "Is Dune in stock?"}]}]
    ),
    "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [CALL_PART], "finish_reason": "tool_call"}]),
    "gen_ai.usage.input_tokens": 42,
    "gen_ai.usage.cache_read.input_tokens": 16,
}
TOOL = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "find_book",
    "gen_ai.tool.call.id": "call_1",
    "gen_ai.tool.call.arguments": '{"title": "Dune"}',
}
# Id, id of the parent, name, attributes, whether it failed.
SPANS: Any = [
    ("01", None, "invoke_agent clerk", {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "clerk"}, False),
    ("02", "01", "chat gpt-5", CHAT, False),
    ("03", "01", "execute_tool find_book", TOOL, True),
]
EVALUATION = {"gen_ai.evaluation.name": "Relevance", "gen_ai.evaluation.score.value": 0.8}
START = "2026-03-01T10:00:01.250000Z"


def nest(attributes: dict[str, Any]) -> dict[str, Any]:
    """Return attributes nested by the dots of their names."""
    root: dict[str, Any] = {}
    for name, value in attributes.items():
        *path, last = name.split(".")
        holder = root
        for key in path:
            holder = holder.setdefault(key, {})
        holder[last] = value
    return root


def elastic(*, is_nested: bool = False) -> Any:
    documents = [
        {
            "@timestamp": START,
            "trace_id": TRACE,
            "span_id": id,
            **({"parent_span_id": parent} if parent else {}),
            "name": name,
            "kind": "Client",
            "duration": 500_000_000,
            "status": {"code": "Error", "message": "no such shelf"} if is_error else {"code": "Unset"},
            "attributes": nest(attributes) if is_nested else attributes,
            "resource": {"attributes": {"service.name": "shop"}},
            "scope": {"name": "clerk"},
        }
        for id, parent, name, attributes, is_error in SPANS
    ]
    log = {
        "@timestamp": START,
        "trace_id": TRACE,
        "span_id": "02",
        "event_name": "gen_ai.evaluation.result",
        "attributes": EVALUATION,
    }
    return {"took": 3, "hits": {"hits": [{"_index": "i", "_source": item} for item in [*documents, log]]}}


def opensearch() -> Any:
    def document(id: str, parent: str | None, name: str, attributes: Any, is_error: bool) -> Any:
        events = [{"name": "gen_ai.evaluation.result", "time": START, "attributes": at_signs(EVALUATION)}]
        return {
            "traceId": TRACE,
            "spanId": id,
            "parentSpanId": parent or "",
            "name": name,
            "kind": "SPAN_KIND_CLIENT",
            "startTime": START,
            "endTime": "2026-03-01T10:00:01.750000Z",
            "durationInNanos": 500_000_000,
            "serviceName": "shop",
            "status.code": 2 if is_error else 0,
            "status.message": "no such shelf" if is_error else "",
            "events": events if id == "02" else [],
            **{f"span.attributes.{key}": value for key, value in at_signs(attributes).items()},
        }

    return {"hits": {"hits": [{"_source": document(*span)} for span in SPANS]}}


def at_signs(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name.replace(".", "@"): value for name, value in attributes.items()}


def honeycomb() -> Any:
    rows = [
        {
            "Timestamp": START,
            "trace.trace_id": TRACE,
            "trace.span_id": id,
            **({"trace.parent_id": parent} if parent else {}),
            "name": name,
            "duration_ms": 500,
            "service.name": "shop",
            "span.kind": "client",
            **({"error": True, "status_code": 2, "status_message": "no such shelf"} if is_error else {}),
            **attributes,
        }
        for id, parent, name, attributes, is_error in SPANS
    ]
    ids = {"Timestamp": START, "trace.trace_id": TRACE, "trace.parent_id": "02", "meta.annotation_type": "span_event"}
    return [*rows, {**ids, "name": "gen_ai.evaluation.result", **EVALUATION}]


def signoz() -> Any:
    def kind(attributes: Any, type_: Any) -> Any:
        return {name: value for name, value in attributes.items() if isinstance(value, type_)}

    event = {"name": "gen_ai.evaluation.result", "timeUnixNano": 1772359201500000000, "attributeMap": EVALUATION}
    return [
        {
            "timestamp": START,
            "trace_id": TRACE,
            "span_id": id,
            "parent_span_id": parent or "",
            "name": name,
            "kind_string": "Client",
            "duration_nano": 500_000_000,
            "status_code_string": "Error" if is_error else "Unset",
            "status_message": "no such shelf" if is_error else "",
            "attributes_string": kind(attributes, str),
            "attributes_number": kind(attributes, int),
            "resources_string": {"service.name": "shop"},
            "events": [json.dumps(event)] if id == "02" else [],
        }
        for id, parent, name, attributes, is_error in SPANS
    ]


def signoz_results(name: str) -> Any:
    rows = [{"timestamp": row["timestamp"], "data": row} for row in signoz()]
    if name == "list":
        return {"status": "success", "data": {"result": [{"queryName": "A", "list": rows}]}}
    return {"status": "success", "data": {"type": "raw", "data": {"results": [{"queryName": "A", "rows": rows}]}}}


def lines(values: list[Any]) -> bytes:
    return b"\n".join(json.dumps(value).encode() for value in values)


def table(rows: list[Any]) -> bytes:
    target = io.StringIO()
    writer = csv.DictWriter(target, sorted({name for row in rows for name in row}))
    writer.writeheader()
    writer.writerows(rows)
    return target.getvalue().encode()


SHAPES: dict[str, bytes] = {
    "hits of Elasticsearch": json.dumps(elastic()).encode(),
    "nested attributes": json.dumps(elastic(is_nested=True)).encode(),
    "lines of a dump": lines(elastic()["hits"]["hits"]),
    "documents by lines": lines([hit["_source"] for hit in elastic()["hits"]["hits"]]),
    "hits of OpenSearch": json.dumps(opensearch()).encode(),
    "rows of Honeycomb": json.dumps(honeycomb()).encode(),
    "results of Honeycomb": json.dumps({"data": {"results": [{"data": row} for row in honeycomb()]}}).encode(),
    "events of Honeycomb": lines([{"time": START, "samplerate": 1, "data": row} for row in honeycomb()]),
    "CSV of Honeycomb": table(honeycomb()),
    "rows of SigNoz": lines(signoz()),
    "results of SigNoz": json.dumps(signoz_results("rows")).encode(),
    "earlier results of SigNoz": json.dumps(signoz_results("list")).encode(),
}


@pytest.mark.parametrize("data", SHAPES.values(), ids=SHAPES)
def test_spans_are_same_from_every_store(data: bytes) -> None:
    ((run,), problems) = fixtures.detect_and_read("otlp", data)
    agent, model, tool = run.steps
    assert (run.external_id, run.app, problems) == (TRACE, "shop", [])
    assert [step.type for step in run.steps] == [StepType.AGENT, StepType.MODEL, StepType.TOOL]
    assert (agent.name, agent.parent, model.parent, tool.parent) == ("clerk", None, "01", "01")
    assert (model.model, model.tokens_in, model.tokens_cached) == ("gpt-5", 42, 16)
    assert model.input == {"messages": [fixtures.REQUEST]}
    assert model.output == {"message": fixtures.CALL, "finish_reason": "tool_calls"}
    assert (tool.call_id, tool.input, tool.status) == ("call_1", {"title": "Dune"}, StepStatus.ERROR)
    assert (tool.error, model.attributes["kind"]) == ("no such shelf", "CLIENT")
    assert model.started_at is not None
    assert model.ended_at is not None
    assert (model.ended_at - model.started_at).total_seconds() == 0.5
    assert [(item.name, item.value, item.step) for item in run.judgements] == [("Relevance", 0.8, "02")]


def test_documents_of_elastic_apm_are_refused() -> None:
    document = {"processor": {"event": "span", "name": "transaction"}, "trace": {"id": TRACE}, "span": {"id": "1"}}
    for value in (document, {"hits": {"hits": [{"_source": document}]}}):
        with pytest.raises(BadFile, match="documents of Elastic APM, whose labels"):
            registry.detect(fixtures.sample("hits.json", json.dumps(value).encode()))


def long_chain() -> list[Any]:
    row = honeycomb()[2]
    return [{**row, "trace.span_id": f"{no:04x}", "trace.parent_id": f"{no + 1:04x}"} for no in range(8_000)]


def equal_ids() -> list[Any]:
    return [signoz()[1]] * 8_000


def names_instead_of_lists() -> list[Any]:
    row = {**signoz()[1], "events": "x" * 60_000, "attributes_string": ["a"] * 1000}
    return [{**row, "span_id": str(number)} for number in range(50)]


@pytest.mark.parametrize("build", [long_chain, equal_ids, names_instead_of_lists])
def test_hostile_rows_are_read_in_linear_time(build: Callable[[], list[Any]]) -> None:
    data = lines(build())
    start = time.thread_time()
    runs, _ = fixtures.detect_and_read("otlp", data)
    assert runs
    assert time.thread_time() - start < 4
