"""Spans as JSON documents: console output of OpenTelemetry, exports of Phoenix."""

from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.json_access import as_objects
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import RunStatus, StepStatus, StepType
from traces.importers import registry
from traces.importers.files.source import Source

SPAN: dict[str, Any] = {
    "name": "shelve",
    "context": {"trace_id": "0xab", "span_id": "0x01"},
    "kind": "SpanKind.INTERNAL",
    "parent_id": None,
    "start_time": "2026-10-01T10:00:00.000000Z",
    "end_time": "2026-10-01T10:00:01.000000Z",
    "status": {"status_code": "ERROR", "description": "the shelf is full"},
    "attributes": {"openinference.span.kind": "TOOL", "input.value": '{"shelf": 7}'},
}


def import_spans(data: bytes) -> tuple[list[RecordedRun], list[str]]:
    source = Source(name="spans", data=data)
    runs = list(registry.detect(fixtures.sample("spans", data)).runs([source]))
    return runs, [str(problem) for problem in source.problems]


@pytest.mark.parametrize("name", ["otel_console.log", "phoenix_spans.jsonl", "phoenix_table.json"])
def test_documents_equal_their_otlp(name: str) -> None:
    documents, otlp = fixtures.run(name), fixtures.run("otlp_openinference.json")
    assert (documents.external_id, documents.name) == (otlp.external_id, otlp.name)
    assert [(step.type, step.key, step.parent, step.input, step.output, step.model) for step in documents.steps] == [
        (step.type, step.key, step.parent, step.input, step.output, step.model) for step in otlp.steps
    ]
    assert [step.tokens_cached for step in documents.steps] == [step.tokens_cached for step in otlp.steps]
    assert [step.started_at for step in documents.steps] == [step.started_at for step in otlp.steps]


def test_failed_span_keeps_its_error() -> None:
    (run,), _ = import_spans(orjson.dumps(SPAN))
    (step,) = run.steps
    assert (step.status, step.error, step.input) == (StepStatus.ERROR, "the shelf is full", {"shelf": 7})
    assert (run.status, run.external_id) == (RunStatus.FAILED, "ab")


@pytest.mark.parametrize("name", ["exception.message", "error.message"])
def test_error_in_an_attribute_is_that_of_the_step(name: str) -> None:
    attributes = {"openinference.span.kind": "TOOL", name: "the shelf is full"}
    (run,), _ = import_spans(orjson.dumps({**SPAN, "status": {"status_code": "ERROR"}, "attributes": attributes}))
    assert run.steps[0].error == "the shelf is full"


def test_broken_console_span_is_reported() -> None:
    document = orjson.dumps(SPAN, option=orjson.OPT_INDENT_2)
    lines = document.split(b"\n")
    cut_off = b"\n".join(lines[:8])
    no_time = orjson.dumps({**SPAN, "start_time": "noon"}, option=orjson.OPT_INDENT_2)
    runs, problems = import_spans(b"\n".join([cut_off, document, b"[WARN] {", no_time, cut_off]))
    assert len(runs) == 1
    places = [f"document at line {number}," for number in (1, 2 * len(lines) + 10)]
    assert [place in problem for place, problem in zip(places, problems[:2], strict=True)] == [True, True]
    assert problems[2] == f"“noon” is not a time (line {len(lines) + 10})"


@pytest.mark.parametrize("field", ["data", "spans"])
def test_pages_of_spans_are_read(field: str) -> None:
    (run,), problems = import_spans(orjson.dumps({field: [SPAN], "next_cursor": None}))
    assert ([step.type for step in run.steps], problems) == ([StepType.TOOL], [])


def test_json_values_stay_whole() -> None:
    attributes = {
        "tool": {"name": "shelve", "parameters": {"shelf": {"number": 7}}},
        "metadata": {"shop": {"floor": 2}},
        "session": {"id": "s-1"},
    }
    (run,), _ = import_spans(orjson.dumps({**SPAN, "span_kind": "TOOL", "attributes": attributes}))
    assert run.steps[0].input == {"shelf": {"number": 7}}
    assert run.metadata["metadata"] == {"shop": {"floor": 2}}
    assert run.metadata["session.id"] == "s-1"


def test_annotations_and_evaluations_are_judgements() -> None:
    result = {"label": "bad", "score": 0.2, "explanation": "too short"}
    evaluation = {"gen_ai.evaluation.name": "tone", "gen_ai.evaluation.score.value": 0.7}
    event = {"name": "gen_ai.evaluation.result", "timestamp": "2026-10-01T10:00:01Z", "attributes": evaluation}
    annotated = {**SPAN, "annotations": [{"name": "quality", "annotator_kind": "HUMAN", "result": result}]}
    ((run,), _) = import_spans(orjson.dumps({**annotated, "events": [event], "eval.length.label": "short"}))
    assert [(score.name, score.value, score.text, score.by, score.step) for score in run.judgements] == [
        ("quality", 0.2, "bad: too short", "HUMAN", "01"),
        ("length", None, "short", "", "01"),
        ("tone", 0.7, "", "", "01"),
    ]


def test_log_records_have_messages_of_their_span() -> None:
    call = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-x"}
    span = {**SPAN, "status": {"status_code": "UNSET"}, "attributes": call}
    ids = {"trace_id": "0xab", "span_id": "0x01", "severity_number": 9, "timestamp": "2026-10-01T10:00:00Z"}
    choice = {"message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}
    records = [
        {"body": {"content": "Is Dune in stock?"}, "event_name": "gen_ai.user.message", **ids},
        {"body": choice, "attributes": {"event.name": "gen_ai.choice"}, **ids},
        {"body": "The shop is open.", **ids, "trace_id": "0x00", "span_id": "0x00"},
        span,
    ]
    console = b"starting\n" + b"\n".join(orjson.dumps(item, option=orjson.OPT_INDENT_2) for item in records)
    for data in (console, fixtures.json_lines(records)):
        ((run,), problems) = import_spans(data)
        (step,) = run.steps
        request: Any = step.input
        assert (request["messages"], fixtures.answer_contents(run)) == ([fixtures.REQUEST], ["Yes."])
        assert problems == []


def test_rows_of_logfire_are_spans() -> None:
    exception = {"exception.type": "ShelfError", "exception.message": "the shelf is full"}
    row = {
        "trace_id": "ab",
        "span_id": "01",
        "parent_span_id": None,
        "span_name": "running tool",
        "start_timestamp": "2026-10-01T10:00:00.000000Z",
        "end_timestamp": "2026-10-01T10:00:01.000000Z",
        "service_name": "shop",
        "otel_status_code": "ERROR",
        "otel_status_message": "the shelf is full",
        "otel_events": [{"event_name": "exception", "attributes": exception}],
        "tags": ["night"],
        "message": "running tool: shelve",
        "deployment_environment": "prod",
        "exception_stacktrace": "line 1",
        "attributes": {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "shelve"},
    }
    for value in ([row], {"rows": [row]}):
        ((run,), problems) = import_spans(orjson.dumps(value))
        (step,) = run.steps
        assert (step.type, step.tool_name, step.error) == (StepType.TOOL, "shelve", "the shelf is full")
        assert (run.app, run.environment, run.status, problems) == ("shop", "prod", RunStatus.FAILED, [])
        names = ("logfire.tags", "logfire.msg", "exception.stacktrace")
        assert [step.attributes[name] for name in names] == [["night"], "running tool: shelve", "line 1"]


def test_annotation_columns_of_arize_are_judgements_of_their_authors() -> None:
    columns = {"annotation.quality.label": "good", "annotation.quality.updated_by": "Ada"}
    ((run,), _) = import_spans(orjson.dumps({**SPAN, **columns}))
    assert [(score.name, score.text, score.by, score.step) for score in run.judgements] == [
        ("quality", "good", "Ada", "01")
    ]


def test_spans_with_pairs_as_attributes_are_read() -> None:
    pairs = [{"key": "gen_ai.tool.name", "value": {"string_value": "shelve"}}]
    span = {
        **{"trace_id": "ab", "span_id": "01", "name": "shelve", "start_time_unix_nano": 10**18, "attributes": pairs},
        "events": [{"name": "note", "time_unix_nano": 10**18, "attributes": pairs}],
        "links": [{"trace_id": "cd", "span_id": "02", "attributes": pairs}],
        "resource": {"attributes": [{"key": "service.name", "value": {"string_value": "shop"}}]},
    }
    ((run,), problems) = import_spans(orjson.dumps({"data": [span], "next_cursor": None}))
    (step,) = run.steps
    assert (run.app, step.tool_name, problems) == ("shop", "shelve", [])
    attributes = {"gen_ai.tool.name": "shelve"}
    assert [event["attributes"] for event in as_objects(step.attributes["events"])] == [attributes]
    assert step.attributes["links"] == [{"traceId": "cd", "spanId": "02", "attributes": attributes}]


@pytest.mark.parametrize(
    "attributes",
    [
        {"openinference.span.kind": "EMBEDDING", "llm.token_count.prompt": 9},
        {"gen_ai.operation.name": "embeddings", "gen_ai.usage.input_tokens": 9},
        {"ai.operationId": "ai.embed.doEmbed", "ai.usage.tokens": 9},
    ],
)
def test_embedding_has_its_tokens(attributes: dict[str, Any]) -> None:
    ((run,), _) = import_spans(orjson.dumps({**SPAN, "attributes": attributes}))
    assert (run.steps[0].type, run.steps[0].tokens_in) == (StepType.RETRIEVAL, 9)


def test_prompt_has_its_template_and_variables() -> None:
    template = {"template": "Find {title}.", "variables": '{"title": "Dune"}', "version": "v1"}
    attributes = {f"llm.prompt_template.{name}": value for name, value in template.items()}
    ((run,), _) = import_spans(
        orjson.dumps({**SPAN, "attributes": {"openinference.span.kind": "PROMPT", **attributes}})
    )
    assert run.steps[0].input == {"template": "Find {title}.", "variables": {"title": "Dune"}, "version": "v1"}


def test_pages_of_phoenix_name_all_members_of_a_value() -> None:
    empty = {"array_value": None, "bool_value": None, "int_value": None, "kvlist_value": None}
    pairs = [{"key": "input.value", "value": {**empty, "string_value": "Hello?"}}]
    span = {"trace_id": "a" * 32, "span_id": "b" * 16, "attributes": pairs, "start_time_unix_nano": 1, "name": "chat"}
    ((run,), problems) = fixtures.detect_and_read("otlp", orjson.dumps({"data": [span], "next_cursor": None}))
    assert (run.steps[0].input, problems) == ({"task": "Hello?"}, [])


def test_spans_of_a_graph_query() -> None:
    span = {
        "spanId": "b" * 16,
        "parentId": None,
        "name": "chat",
        "spanKind": "llm",
        "statusCode": "ERROR",
        "statusMessage": "overloaded",
        "startTime": "2026-03-01T10:00:00+00:00",
        "endTime": "2026-03-01T10:00:01+00:00",
        "tokenCountPrompt": 7,
        "attributes": orjson.dumps({"llm": {"model_name": "gpt-x"}, "input": {"value": "Hi"}}).decode(),
        "spanAnnotations": [{"name": "toxic", "annotatorKind": "LLM", "label": "no", "score": 0.0}],
    }
    trace = {"traceId": "a" * 32, "spans": {"edges": [{"span": span}, {"span": span}]}}
    data = orjson.dumps({"data": {"project": {"name": "shop", "trace": trace}}})
    ((run,), problems) = fixtures.detect_and_read("otlp", data)
    (step,) = run.steps
    assert (run.app, step.model, step.tokens_in, step.error, problems) == ("shop", "gpt-x", 7, "overloaded", [])
    assert [(item.name, item.value, item.text, item.by) for item in run.judgements] == [("toxic", 0.0, "no", "LLM")]


def test_annotations_in_a_page_of_their_own_are_judgements() -> None:
    span_id = SPAN["context"]["span_id"]
    rows = [
        {"span_id": id, "name": "quality", "annotator_kind": "HUMAN", "result": {"label": "good", "score": 0.5}}
        for id in (span_id, "f" * 16)
    ]
    pages = [{"data": items, "next_cursor": None} for items in ([SPAN], rows)]
    sources = [Source(name=f"page-{number}.json", data=orjson.dumps(page)) for number, page in enumerate(pages)]
    assert registry.detect(fixtures.sample("page", sources[1].data)).name == "otlp"
    importer = registry.get_importer("otlp")
    assert importer.keys is not None
    assert importer.keys(sources[0]) & importer.keys(sources[1])
    (run,) = importer.runs(sources)
    assert [(item.name, item.value, item.text, item.step) for item in run.judgements] == [
        ("quality", 0.5, "good", span_id.removeprefix("0x"))
    ]
    (problem,) = sources[1].problems
    assert "annotations of span ffffffffffffffff" in str(problem)
