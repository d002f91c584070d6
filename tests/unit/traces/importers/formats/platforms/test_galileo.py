"""Exports of Galileo by rows: records of sessions, traces and spans."""

from decimal import Decimal
from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import JudgementKind, RunStatus, StepType

ROWS: Any = [orjson.loads(line) for line in (fixtures.FOLDER / "galileo_rows.jsonl").read_bytes().splitlines()]
SESSION, SPANS, TRACE = ROWS[0], ROWS[1:5], ROWS[5]


def test_rows_of_a_trace_are_one_run() -> None:
    run, other = fixtures.runs("galileo_rows.jsonl")
    assert (run.external_id, run.tags, run.status) == ("trace-1", ("demo",), RunStatus.COMPLETED)
    assert [(step.key, step.type, step.parent) for step in run.steps] == [
        ("trace-1", StepType.AGENT, None),
        ("span-1", StepType.AGENT, "trace-1"),
        ("span-2", StepType.MODEL, "span-1"),
        ("span-3", StepType.TOOL, "span-1"),
        ("span-4", StepType.RETRIEVAL, "span-1"),
    ]
    assert (other.external_id, other.status) == ("trace-2", RunStatus.PARTIAL)


def test_spans_have_calls_tokens_costs_and_documents() -> None:
    run, _ = fixtures.runs("galileo_rows.jsonl")
    model, tool, search = run.steps[2:]
    assert (model.tokens_in, model.tokens_cached, model.cost_usd) == (42, 16, Decimal("0.0005"))
    assert model.output == {"message": fixtures.CALL, "finish_reason": "tool_calls"}
    assert (tool.call_id, tool.input, tool.output) == ("call_1", {"title": "Dune"}, "3 copies")
    assert search.output == {"documents": [{"id": "1", "content": "Dune is a novel.", "metadata": {"shelf": 7}}]}


def test_metrics_are_judgements_with_explanations() -> None:
    run, _ = fixtures.runs("galileo_rows.jsonl")
    assert [(item.name, item.kind, item.value, item.text, item.step) for item in run.judgements] == [
        ("correctness", JudgementKind.SCORE, 1.0, "", None),
        ("factuality", JudgementKind.SCORE, 0.75, "the shelf agrees", "span-1"),
    ]
    assert run.judgements[1].detail == {"model_alias": "judge", "num_judges": 3}
    assert run.steps[1].attributes["metrics"] == {"toxicity": {"status_type": "failed", "message": "no key"}}


def test_session_is_in_the_metadata_of_its_traces() -> None:
    run, _ = fixtures.runs("galileo_rows.jsonl")
    session: Any = run.metadata["session"]
    assert (run.metadata["session_id"], run.metadata["plan"]) == ("session-1", "gold")
    assert (session["name"], session["metrics"]) == ("Saturday", {"agent_efficiency": 1.0})


def test_spans_without_their_trace_are_a_run() -> None:
    ((run,), problems) = fixtures.detect_and_read("galileo", orjson.dumps({"records": SPANS}))
    assert (run.external_id, run.steps[0].parent, problems) == ("trace-1", None, [])
    assert [score.step for score in run.judgements] == ["span-1"]
    assert "missing_parent" not in run.steps[0].attributes


def test_sessions_without_traces_are_refused() -> None:
    runs, problems = fixtures.detect_and_read("galileo", orjson.dumps([SESSION]))
    assert runs == []
    assert problems == ["these are sessions of Galileo without their traces: export the traces and spans, too (/type)"]


def test_traces_inside_a_session_are_runs() -> None:
    session = {**SESSION, "traces": [{**TRACE, "spans": SPANS[:1]}, {**TRACE, "id": "t9", "trace_id": "t9"}]}
    runs, problems = fixtures.detect_and_read("galileo", orjson.dumps(session))
    assert ([(run.external_id, len(run.steps)) for run in runs], problems) == ([("trace-1", 2), ("t9", 1)], [])


@pytest.mark.parametrize("is_cycle", [False, True])
def test_long_chains_of_rows_are_read(is_cycle: bool) -> None:
    count = 10_000
    rows = [{**SPANS[1], "id": f"s{no}", "parent_id": f"s{(no + 1) % count}"} for no in range(count)]
    if not is_cycle:
        rows[-1]["parent_id"] = None
    ((run,), problems) = fixtures.detect_and_read("galileo", fixtures.json_lines(rows))
    assert (len(run.steps), problems) == (count, [])
