"""Datadog's spans: exported, and as programs send them."""

from decimal import Decimal
from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.json_access import omit
from traces.core.vocabulary import JudgementKind, RunStatus, StepStatus, StepType

PAGE: Any = fixtures.source("datadog_spans.json").value
SPANS = [item["attributes"] for item in PAGE["data"]]


def test_exported_spans_form_a_trace() -> None:
    run = fixtures.run("datadog_spans.json")
    assert [(step.type.value, step.parent) for step in run.steps] == [
        *(("agent", None), ("model", "1"), ("tool", "2"), ("model", "1"), ("retrieval", "1"))
    ]
    first, second = fixtures.steps(run, StepType.MODEL)
    assert (first.tokens_in, first.tokens_cached, first.cost_usd) == (42, 16, Decimal("0.0000075"))
    assert first.output == {"message": fixtures.CALL}
    assert first.input == {
        "messages": [fixtures.SYSTEM, fixtures.REQUEST],
        "tools": [{"name": "find_book", "description": "Looks it up.", "parameters": {"type": "object"}}],
        "parameters": {"temperature": 0.2},
    }
    assert fixtures.request_contents(second) == ["Is Dune in stock?", None, "3 copies"]
    assert fixtures.steps(run, StepType.TOOL)[0].call_id == "call_1"
    assert (run.app, run.environment) == ("bookshop", "prod")
    starts = [{"start_ms": span["start_ns"] // 10**6} for span in SPANS]
    later = [{**omit(span, "start_ns"), **start} for span, start in zip(SPANS, starts, strict=True)]
    rows = [{"type": "span", "attributes": span} for span in later]
    ((other,), _) = fixtures.detect_and_read("datadog", orjson.dumps({"data": rows}))
    assert [step.started_at for step in other.steps] == [step.started_at for step in run.steps]
    assert [(item.name, item.kind, item.value, item.text) for item in run.judgements] == [
        ("helpful", JudgementKind.SCORE, 0.5, "short"),
        ("answered", JudgementKind.FAIL, None, "answered"),
    ]


def test_errors_decide_the_status() -> None:
    run = fixtures.run("datadog_spans.json")
    failed = fixtures.steps(run, StepType.RETRIEVAL)[0]
    assert (run.status, failed.status, failed.error) == (RunStatus.COMPLETED, StepStatus.ERROR, "the index is old")
    root = {**SPANS[1], "status": "error"}
    ((run,), _) = fixtures.detect_and_read("datadog", orjson.dumps({"data": [{"type": "span", "attributes": root}]}))
    assert run.status is RunStatus.FAILED


def sent(span: dict[str, Any], kind: dict[str, Any]) -> dict[str, Any]:
    """A span as a program sends it."""
    inner = ("input", "output", "metadata", "model_name", "model_provider", "error", "tool_definitions", "intent")
    shared = {"ml_app", "tags", "span_kind", "evaluation"}
    meta = {name: span[name] for name in inner if name in span}
    return {name: item for name, item in span.items() if name not in {*inner, *shared}} | {"meta": {**meta, **kind}}


@pytest.mark.parametrize("name", ["kind", "span.kind", "span"])
def test_sent_spans_give_same_steps(name: str) -> None:
    spans = [sent(span, {name: {"kind": span["span_kind"]} if name == "span" else span["span_kind"]}) for span in SPANS]
    shared = {"ml_app": "bookshop", "tags": SPANS[0]["tags"]}
    request = {"data": {"type": "span", "attributes": {**shared, "spans": spans}}}
    events = [{"event_type": "span", **shared, "spans": [span]} for span in spans]
    for value in (request, events):
        ((run,), problems) = fixtures.detect_and_read("datadog", orjson.dumps(value))
        assert problems == []
        assert run.steps == fixtures.run("datadog_spans.json").steps
        assert run.app == "bookshop"
