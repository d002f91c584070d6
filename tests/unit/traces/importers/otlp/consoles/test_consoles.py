"""Spans as the consoles of Node.js and .NET print them."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import StepStatus, StepType
from traces.importers import registry
from traces.importers.files.errors import BadFile
from traces.importers.files.json_reader import json_value
from traces.importers.otlp.consoles.script_values import to_json

NODE, DOTNET = "otel_node_console.log", "otel_dotnet_console.log"


@pytest.mark.parametrize("name", [NODE, DOTNET])
def test_printed_spans_are_a_trace(name: str) -> None:
    run = fixtures.run(name)
    agent, model, tool = run.steps
    assert (run.external_id, run.app) == ("0af7651916cd43dd8448eb211c80319c", "shop")
    assert [step.type for step in run.steps] == [StepType.AGENT, StepType.MODEL, StepType.TOOL]
    assert (agent.parent, model.parent, tool.parent) == (None, agent.key, agent.key)
    assert (model.model, model.tokens_in, model.tokens_cached) == ("gpt-5", 42, 16)
    assert model.output == {"message": fixtures.CALL, "finish_reason": "tool_calls"}
    assert (model.attributes["scope.version"], model.attributes["kind"]) == ("1.0.0", "CLIENT")
    assert (tool.call_id, tool.input) == ("call_1", {"title": "Dune"})
    assert (tool.status, tool.error) == (StepStatus.ERROR, "no such shelf")
    assert model.started_at is not None
    assert model.ended_at is not None
    assert (model.ended_at - model.started_at).total_seconds() == 0.5
    assert [(item.name, item.value, item.step) for item in run.judgements] == [("Relevance", 0.8, model.key)]


def test_texts_keep_their_quotes_and_line_breaks() -> None:
    node, dotnet = fixtures.run(NODE), fixtures.run(DOTNET)
    assert fixtures.request_contents(node.steps[1]) == [
        'Is Dune in stock?\nThe shop\'s cat says "no" \\ `maybe` é 😀',
    ]
    line = "line of a text that is long enough to be printed in pieces"
    assert node.steps[2].attributes["note"] == f"first {line}\nsecond {line}"
    assert dotnet.steps[2].attributes["note"] == "first line\nsecond line"
    assert dotnet.metadata["resource"] == {"service.name": "shop", "telemetry.sdk.language": "dotnet"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{ a: undefined, b: null, c: NaN, d: true }", {"a": None, "b": None, "c": None, "d": True}),
        ("{ 'gen_ai.x': \"it's\", y: `\"'` }", {"gen_ai.x": "it's", "y": "\"'"}),
        ("{ a: 'x\\n' +\n  'y' + 'z' }", {"a": "x\nyz"}),
        ("{ a: 'long'... 9 more characters }", {"a": "long... 9 more characters"}),
        ("{ a: [ 1, -2.5, 3n, 1e+21 ], b: [Object], c: [Array] }", {"a": [1, -2.5, 3, 1e21], "b": None, "c": None}),
        ("{ a: Resource { b: [Object: null prototype] {} } }", {"a": {"b": {}}}),
        ("{ a: 2026-03-01T10:00:00.000Z, true: 1 }", {"a": "2026-03-01T10:00:00.000Z", "true": 1}),
        ("{ a: 'tab\\t \\x41 \\u00e9 \\'q\\'' }", {"a": "tab\t A é 'q'"}),
    ],
)
def test_printed_values_are_translated(text: str, value: Any) -> None:
    json_text = to_json(text)
    assert json_text is not None
    assert json_value(json_text.encode()) == value


@pytest.mark.parametrize("text", ["{ a: 'open", "a ; b", "{ a: #private }"])
def test_other_texts_are_not_translated(text: str) -> None:
    assert to_json(text) is None


def test_broken_span_is_reported() -> None:
    data = (fixtures.FOLDER / DOTNET).read_bytes()
    ((run,), problems) = fixtures.detect_and_read("otlp", data + b"Activity.TraceId: ab\nActivity.SpanId: cd\n")
    assert len(run.steps) == 3
    assert problems == ["a span without `Activity.StartTime` (the span at line 75)"]
    with pytest.raises(BadFile, match="begins with"):
        registry.detect(fixtures.sample("log.txt", b"Activity.TraceId: ab\nActivity.SpanId: cd\n"))


def quotes() -> bytes:
    return b"{\n  traceId: 'ab',\n" + b'"\\"' * 20_000 + b"\n}\n"


def open_blocks() -> bytes:
    return b"{\n  traceId: 'ab',\n" * 15_000


def markers() -> bytes:
    return b"Activity.TraceId:\n" * 15_000 + b"Activity.Tags:\n" + b"    a: b\n" * 15_000


def brackets() -> bytes:
    return b"{\n  traceId: 'ab', a: " + b"[" * 30_000 + b"\n}\n"


@pytest.mark.parametrize("build", [quotes, open_blocks, markers, brackets])
def test_hostile_texts_are_refused_in_linear_time(build: Callable[[], bytes]) -> None:
    data = build()
    start = time.thread_time()
    with pytest.raises(BadFile):
        registry.detect(fixtures.sample("log.txt", data))
    assert time.thread_time() - start < 2
