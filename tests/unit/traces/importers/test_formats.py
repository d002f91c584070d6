"""Detection of formats, and the runs that example recordings become."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import Label, RunStatus, StepStatus, StepType
from traces.importers import registry
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source

OTLP_DIALECTS = [name for name in fixtures.FORMATS if name.startswith("otlp_") and "events" not in name]


def shape(run: RecordedRun) -> list[tuple[str, str, str | None]]:
    """Return type, name and parent name of every step."""
    names = {step.key: step.name for step in run.steps}
    return [(step.type.value, step.name, names.get(step.parent or "")) for step in run.steps]


def only(run: RecordedRun, type: StepType) -> RecordedStep:
    (step,) = fixtures.steps(run, type)
    return step


def body(value: Any) -> Any:
    """Return a payload as `Any`, for indexing."""
    return value


@pytest.mark.parametrize("names", fixtures.examples(), ids=" ".join)
def test_examples_give_stored_runs(names: tuple[str, ...]) -> None:
    actual, expected = fixtures.serialize_runs(names), fixtures.expected(names).read_bytes()
    assert [orjson.loads(line) for line in actual.splitlines()] == [
        orjson.loads(line) for line in expected.splitlines()
    ]


@pytest.mark.parametrize(("name", "format"), sorted(fixtures.FORMATS.items()))
def test_formats_are_detected_by_content(name: str, format: str) -> None:
    assert registry.detect(fixtures.sample("upload", (fixtures.FOLDER / name).read_bytes())).name == format


@pytest.mark.parametrize(
    ("content", "reason", "location"),
    [
        ((fixtures.FOLDER / "index.json").read_bytes(), "Kurral's index of artifacts", "/"),
        (b"tools:\n  find_book: true\ndone: true\n", "side-effect review", "line 1"),
        (b"proxy:\n  port: 3100\nservers:\n  shelf: x\n", "MCP proxy", "line 1"),
        (b'{"Host": "x", "User-Agent": "y", "Content-Type": "z"}', "headers of an HTTP request", "/"),
        (b'{"$defs": {}, "type": "array"}', "JSON Schema", "/"),
        (b'{"ok": {"status": 200}}', "HTTP responses", "/"),
        (b'{"results": [{"trial_name": "t", "task_id": "shop"}]}', "import the trajectories of the trials", "/"),
        (b'{"session_id": "s", "ts": 1, "text": "Hi"}', "history of prompts", "/"),
        (b'{"display": "Hi", "pastedContents": {}}', "history of prompts", "/"),
        (b'{"response": "Yes.", "stats": {"models": {}}}', "last answer of Gemini CLI only", "/"),
        (b'{"data": [{"trace_id": "t", "project_id": "p", "start_time": 1, "end_time": 2}]}', "traces of Phoenix", "/"),
        (b'{"encrypted_data": "x", "salt": "y"}', "hal-decrypt", "/"),
        (b'{"results": {"accuracy": 1}, "raw_logging_results": []}', "without calls of models", "/"),
        (b'{"version": 2, "width": 80, "height": 24}\n[0.1, "o", "$"]', "what a terminal showed", "line 1"),
        (b'{"instance_id": "shop-1", "model_patch": "diff"}', "predictions of SWE-bench", "/"),
        (b'{"shop-1": {"patch_exists": true, "resolved": true}}', "report of SWE-bench", "/"),
        (b'{"task_id": "g1", "model_answer": "3"}', "answers to GAIA", "/"),
        (b"CREATE TABLE sessions (id TEXT);", "SQL statements", "line 1"),
        (b'{"colour": "blue", "age": 3}', "keys age, colour", "/"),
        (b"[1, 2]", "a list of numbers", "/"),
        (b'[{"colour": "blue", "age": 3}]', "a list of objects with the keys age, colour", "/"),
        (b'{"state": {}, "is_running": false, "work_item_seq": 9}', "context of a LlamaIndex workflow", "/"),
        (b'[{"dataset_id": "d", "inputs": {}, "outputs": {}}]', "examples of a data set", "/"),
        (b"\x00\x01\x02\x03 binary", "binary data", "byte 0"),
        (b"\x37\x7f\x06\x82\x00\x2d\xe2\x18\x00\x00\x10\x00", "write-ahead log of an SQLite database", "byte 0"),
        ("\n ▐▛███▜▌   Claude Code v2.1.40\n\n> hi\n\n⏺ Hello\n".encode(), "what Claude Code showed", "line 1"),
        (b"Dear diary, ...", "begins with “Dear diary, ...”", "line 1"),
        (b"  \n ", "empty", "byte 0"),
        (b'{"kurral_id": "x", "inputs": {"a": }}', "not JSON", "line 1 column 36"),
    ],
)
def test_other_files_are_refused_with_description(content: bytes, reason: str, location: str) -> None:
    with pytest.raises(BadFile, match=reason) as refusal:
        registry.detect(fixtures.sample("upload", content))
    assert refusal.value.where == location


def test_unknown_format_error_lists_formats() -> None:
    with pytest.raises(BadFile, match="kurral, prela, otlp"):
        registry.get_importer("morse")


# Kurral


def test_kurral_session_becomes_turns_and_tools() -> None:
    run = fixtures.run("session.kurral")
    assert (run.external_id, run.app, run.name) == (
        "11111111-2222-4333-8444-555555555555",
        "bookshop",
        "Is Dune in stock?",
    )
    assert [row[0] for row in shape(run)] == ["agent", "prompt", "turn", "tool", "model"]
    tool, model = only(run, StepType.TOOL), only(run, StepType.MODEL)
    assert tool.started_at == datetime(2025, 10, 9, 8, 53, 25, tzinfo=UTC)
    assert body(model.input)["messages"][-1] == {
        "role": "tool",
        "content": '{"output":"3 copies · shelf 7"}',
        "tool_call_id": tool.call_id,
    }
    assert model.links == (tool.key,)
    assert model.tokens_in is None


def test_kurral_file_in_windows_1252() -> None:
    tool = only(fixtures.run("western.kurral"), StepType.TOOL)
    assert tool.output == {"output": "3 copies · shelf 7"}


def test_kurral_replay_has_answering_model_and_scores() -> None:
    run = fixtures.run("replay.kurral")
    model, tool = only(run, StepType.MODEL), only(run, StepType.TOOL)
    assert (model.model, model.provider) == ("gemini-flash", "google")
    assert body(run.metadata)["imported_scores"]["ars"]["ars_score"] == 0.41
    assert body(run.metadata)["imported_scores"]["determinism_score"] == 0.375
    assert body(run.metadata)["replay_of"]["kurral_id"] == "11111111-2222-4333-8444-555555555555"
    assert tool.label is Label.CACHED, "the call is older than the replay"
    assert tool.started_at is None


def test_mcp_calls_without_artifact_are_read() -> None:
    run = fixtures.run("mcp_capture.json")
    tool = only(run, StepType.TOOL)
    assert (run.external_id, tool.status, tool.error) == ("mcp-7", StepStatus.ERROR, "the shelf is locked")
    assert body(tool.attributes)["events"][0]["event_type"] == "start"


# Prela


def test_prela_spans_become_causally_ordered_tree() -> None:
    assert shape(fixtures.run("prela_spans.jsonl")) == [
        ("agent", "bookshop_agent", None),
        ("planner", "plan the answer", "bookshop_agent"),
        ("model", "llm.call", "plan the answer"),
        ("retrieval", "shelf_search", "bookshop_agent"),
        ("tool", "count_copies", "bookshop_agent"),
        ("agent", "mystery", "bookshop_agent"),
    ]


def test_prela_trace_across_files_is_one_run() -> None:
    alone = fixtures.run("prela_spans.jsonl")
    assert fixtures.run("prela_trace.json") == alone
    assert fixtures.run("prela_spans.jsonl", "prela_http.json", "prela_trace.json") == alone
    assert fixtures.run("prela_http.json", "prela_trace.json") == alone


def test_prela_snapshots_become_payloads() -> None:
    run = fixtures.run("prela_spans.jsonl")
    model, retrieval, tool = (only(run, kind) for kind in (StepType.MODEL, StepType.RETRIEVAL, StepType.TOOL))
    assert body(model.input)["parameters"] == {"temperature": 0.5, "max_tokens": 64}
    assert (model.tokens_in, model.tokens_out, model.model) == (12, 3, "gpt-4")
    assert retrieval.input == {"query": "Dune", "top_k": 2}
    assert body(retrieval.output)["documents"][0] == {
        "id": "d1",
        "content": "Dune, shelf 7",
        "score": 0.9,
        "metadata": {"shelf": 7},
    }
    assert (tool.status, tool.error, tool.input) == (StepStatus.TIMEOUT, "timed out after 5s", {"title": "Dune"})


def test_unknown_span_type_becomes_attribute() -> None:
    mystery = fixtures.run("prela_spans.jsonl").steps[-1]
    assert mystery.attributes["span_type"] == "chain"


def test_bad_line_leaves_other_spans() -> None:
    data = (fixtures.FOLDER / "prela_spans.jsonl").read_bytes() + b'not json\n{"x": 1}\n'
    source = Source(name="spans.jsonl", data=data)
    (run,) = registry.get_importer("prela").runs([source])
    assert len(run.steps) == 6
    assert [problem.where for problem in source.problems] == ["line 7, line 1 column 1", "line 8"]


# OTLP


@pytest.mark.parametrize("name", OTLP_DIALECTS)
def test_otlp_dialects_give_same_run(name: str) -> None:
    run = fixtures.run(name)
    first, second = fixtures.steps(run, StepType.MODEL)
    tool = only(run, StepType.TOOL)
    assert [step.type.value for step in run.steps] == ["agent", "model", "tool", "model"]
    assert all(step.parent == run.steps[0].key for step in run.steps[1:])
    assert run.name == "Is Dune in stock?"
    assert (first.model, first.provider, second.provider) == ("gpt-4o-mini", "openai", "openai")
    assert (first.tokens_in, first.tokens_out, first.tokens_cached) == (42, 9, 16)
    assert (tool.tool_name, tool.call_id, tool.input, tool.output) == (
        "find_book",
        "call_1",
        {"title": "Dune"},
        "3 copies",
    )
    assert run.steps[0].attributes["custom.note"] == "kept"


def test_log_records_join_spans_across_files() -> None:
    run = fixtures.run("otlp_events_traces.json", "otlp_events_logs.json")
    first, second = fixtures.steps(run, StepType.MODEL)
    assert body(second.input)["messages"] == [fixtures.SYSTEM, fixtures.REQUEST, fixtures.CALL, fixtures.RESULT]
    assert body(first.output) == {"message": fixtures.CALL, "finish_reason": "tool_calls"}


def test_spans_without_content_have_no_payloads() -> None:
    for model in fixtures.steps(fixtures.run("otlp_events_traces.json"), StepType.MODEL):
        assert (model.input, model.output) == (None, None)


def test_log_records_alone_give_model_calls() -> None:
    run = fixtures.run("otlp_events_logs.json")
    assert [body(step.output)["message"] for step in run.steps] == [fixtures.CALL, fixtures.ANSWER]


def test_bad_span_is_reported_with_pointer() -> None:
    value: Any = fixtures.source("otlp_genai.json").value
    value["resourceSpans"][0]["scopeSpans"][0]["spans"][2]["traceId"] = "0" * 32
    source = Source(name="bad.json", data=orjson.dumps(value))
    assert list(registry.get_importer("otlp").runs([source])) == []
    assert [problem.where for problem in source.problems] == ["/resourceSpans/0/scopeSpans/0/spans/2/traceId"]


# Langfuse, LangSmith


def test_langfuse_events_in_any_order_merge() -> None:
    run = fixtures.run("langfuse_batches.jsonl")
    agent, model, tool, answer = run.steps
    assert (run.external_id, run.app, run.tags) == ("lf-1", "shop", ("demo",))
    assert (agent.input, agent.output) == ({"task": "Is Dune in stock?"}, {"text": "Sorry, I cannot find it."})
    # No model said it: code did, after the tool had failed.
    assert (answer.type, answer.output) == (StepType.OUTPUT, agent.output)
    assert (model.tokens_in, model.tokens_cached) == (42, 16)
    assert body(model.input)["parameters"] == {"temperature": 0.2}
    assert (tool.type, tool.call_id, tool.status, tool.error) == (
        StepType.TOOL,
        "call_1",
        StepStatus.ERROR,
        "no such shelf",
    )
    assert [(score.name, score.value, score.step) for score in run.judgements] == [("helpful", 0.5, None)]


def test_scores_without_trace_are_refused() -> None:
    data = orjson.dumps([{"id": "s", "traceId": "t-9", "name": "ok", "value": 1.0}])
    source = Source(name="scores.json", data=data)
    assert list(registry.get_importer("langfuse").runs([source])) == []
    assert "only scores of trace t-9: import them together with the Langfuse batches" in str(source.problems[0])


def test_langsmith_batch_and_multipart_are_equal() -> None:
    run = fixtures.run("langsmith_batch.json")
    assert fixtures.run("langsmith_multipart.body") == run
    assert [step.type.value for step in run.steps] == ["agent", "model", "tool", "model"]
    assert (run.app, run.steps[0].output) == ("bookshop", {"text": "Yes, three copies."})
    assert only(run, StepType.TOOL).call_id == "call_1"


# Krabs


def test_krabs_telemetry_in_any_order_pairs() -> None:
    run = fixtures.run("krabs_telemetry.jsonl")
    assert shape(run) == [
        ("agent", "agent", None),
        ("turn", "turn 0", "agent"),
        ("tool", "find_book", "turn 0"),
        ("turn", "turn 1", "agent"),
        ("tool", "reserve", "turn 1"),
    ]
    assert [step.status for step in fixtures.steps(run, StepType.TOOL)] == [StepStatus.OK, StepStatus.ERROR]
    assert run.status is RunStatus.COMPLETED


def test_truncated_krabs_telemetry_is_partial_run() -> None:
    lines = (fixtures.FOLDER / "krabs_telemetry.jsonl").read_bytes().splitlines()
    telemetry = b"\n".join(line for line in lines if b"agent_stop" not in line)
    (run,) = registry.get_importer("krabs").runs([Source(name="x", data=telemetry)])
    assert run.status is RunStatus.PARTIAL
    assert run.steps[0].status is StepStatus.PARTIAL


def krabs_database(*, old: bool) -> bytes:
    attempt, values = ("", "") if old else (", attempt INTEGER", ", 0")
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(f"""
        CREATE TABLE sessions (id TEXT, agent_id TEXT, model TEXT, provider TEXT, created_at INTEGER, metadata TEXT);
        CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, agent_id TEXT, turn INTEGER, role TEXT,
            content TEXT, tool_call_id TEXT, tool_name TEXT, tool_args TEXT, created_at INTEGER);
        CREATE TABLE token_usage (id INTEGER PRIMARY KEY, session_id TEXT, agent_id TEXT, turn INTEGER,
            input_tokens INTEGER, output_tokens INTEGER, created_at INTEGER);
        CREATE TABLE errors (id INTEGER PRIMARY KEY, session_id TEXT, agent_id TEXT, turn INTEGER, context TEXT,
            message TEXT{attempt}, created_at INTEGER);
        INSERT INTO sessions VALUES ('k-1', 'a-1', 'claude-x', 'anthropic', 1760000000, NULL);
        INSERT INTO messages VALUES
            (1, 'k-1', 'a-1', 0, 'user', 'Is Dune in stock?', NULL, NULL, NULL, 1760000000),
            (2, 'k-1', 'a-1', 0, 'assistant', '', NULL, NULL,
             '[{{"id": "c1", "name": "find_book", "args": {{"title": "Dune"}}}}]', 1760000001),
            (3, 'k-1', 'a-1', 0, 'tool', 'HTTP 503', 'c1', 'find_book', NULL, 1760000002),
            (4, 'k-1', 'a-1', 1, 'assistant', 'I cannot tell.', NULL, NULL, NULL, 1760000003),
            (5, 'k-1', 'a-1', 0, 'user', 'And Emma?', NULL, NULL, NULL, 1760000004);
        INSERT INTO token_usage VALUES (1, 'k-1', 'a-1', 0, 42, 9, 1760000001), (2, 'k-1', 'a-1', 1, 60, 5, 1760000003);
        INSERT INTO errors VALUES (1, 'k-1', 'a-1', 0, 'find_book', 'HTTP 503'{values}, 1760000002),
            (2, 'k-1', 'a-1', 0, 'find_book', 'HTTP 503'{values}, 1760000002);
    """)
        connection.commit()
        return connection.serialize()


@pytest.mark.parametrize("old", [True, False])
def test_krabs_database_versions_give_session_runs(old: bool) -> None:
    data = krabs_database(old=old)
    assert registry.detect(fixtures.sample("krabs.db", data)).name == "krabs"
    (run,) = registry.get_importer("krabs").runs([Source(name="krabs.db", data=data)])
    first, second = fixtures.steps(run, StepType.MODEL)
    tool = only(run, StepType.TOOL)
    assert [step.type.value for step in run.steps] == ["agent", "turn", "model", "tool", "model", "turn", "output"]
    assert (first.tokens_in, second.tokens_in, first.provider) == (42, 60, "anthropic")
    assert (tool.status, tool.error, tool.retries) == (StepStatus.ERROR, "HTTP 503", 1)
    assert body(first.output)["message"]["content"] is None


# Chat


def test_transcript_becomes_turns_of_calls() -> None:
    run = fixtures.runs("transcripts.jsonl")[0]
    assert [(step.type.value, step.parent, step.key) for step in run.steps] == [
        ("agent", None, "agent"),
        ("turn", "agent", "msg-2"),
        ("model", "msg-2", "msg-3"),
        ("tool", "msg-2", "msg-3.3"),
        ("model", "msg-2", "msg-5"),
        ("tool", "agent", "msg-6.5"),
        ("turn", "agent", "msg-8"),
        ("output", "agent", "output"),
    ]


def test_greeting_and_user_tools_stay_apart() -> None:
    run = fixtures.runs("transcripts.jsonl")[0]
    first, second = fixtures.steps(run, StepType.MODEL)
    assert [message["role"] for message in body(first.input)["messages"]] == ["assistant", "user"]
    assert [message["role"] for message in body(second.input)["messages"]] == ["assistant", "user", "assistant", "tool"]
    own, simulated = fixtures.steps(run, StepType.TOOL)
    assert (own.status, own.error) == (StepStatus.ERROR, "no such book")
    assert simulated.attributes["requestor"] == "user"


def test_transcript_has_outcome_cost_and_model() -> None:
    good, bad = fixtures.runs("transcripts.jsonl")
    assert "outcome:success" in good.tags
    assert {"outcome:failed", "annotated", "task:1"} <= set(bad.tags)
    assert bad.status is RunStatus.COMPLETED, "a bad outcome does not mean that the run broke off"
    assert body(bad.metadata)["annotation"] == {"root_step": 4}
    first = fixtures.steps(good, StepType.MODEL)[0]
    assert (first.model, first.provider, first.cost_usd) == ("gpt-4.1-mini", "openai", Decimal("0.0005"))
    assert (good.app, good.external_id, good.name) == ("shop_bench", "gpt-4.1-mini/0", "Is Dune in stock?")


def test_model_inputs_share_one_history() -> None:
    first, second = fixtures.steps(fixtures.run("openai_messages.json"), StepType.MODEL)
    assert body(first.input)["messages"][1] is body(second.input)["messages"][1]


def test_anthropic_messages_form_a_transcript() -> None:
    run = fixtures.run("anthropic_messages.json")
    first, second = fixtures.steps(run, StepType.MODEL)
    assert (first.model, first.provider) == ("claude-sonnet-4-5", "anthropic")
    assert body(first.output)["message"]["content"] == "Let me look."
    assert body(second.input)["messages"][0] == fixtures.SYSTEM
    assert body(second.input)["messages"][-1] == fixtures.RESULT
    assert only(run, StepType.TOOL).output == "3 copies"


def test_message_lines_form_one_transcript() -> None:
    assert [step.type.value for step in fixtures.run("messages.jsonl").steps] == ["agent", "turn", "model", "output"]


def test_call_without_result_is_partial() -> None:
    earlier = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "Good morning."}]
    value = {"messages": [*earlier, {"role": "user", "content": "go"}, dict(fixtures.CALL)]}
    (run,) = registry.get_importer("chat").runs([Source(name="x", data=orjson.dumps(value))])
    assert only(run, StepType.TOOL).status is StepStatus.PARTIAL
    assert fixtures.steps(run, StepType.OUTPUT) == [], "an earlier answer is not the answer to the last request"
