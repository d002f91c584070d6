"""Exports of Lunary: traces with their children, and pages of single runs."""

from decimal import Decimal
from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import JudgementKind, StepStatus, StepType

ROWS: Any = [orjson.loads(line) for line in (fixtures.FOLDER / "lunary.jsonl").read_bytes().splitlines()]
TRACE, SINGLE = ROWS
CHILDREN = TRACE["children"]


def test_children_are_steps_below_their_root() -> None:
    run, single = fixtures.runs("lunary.jsonl")
    assert (run.external_id, run.app, run.tags) == ("run-0", "bookseller", ("demo",))
    assert [(step.key, step.type, step.parent) for step in run.steps] == [
        ("run-0", StepType.AGENT, None),
        ("run-1", StepType.MODEL, "run-0"),
        ("run-2", StepType.TOOL, "run-0"),
        ("run-3", StepType.TOOL, "run-0"),
        ("run-4", StepType.MODEL, "run-0"),
    ]
    assert (single.external_id, single.steps[0].tokens_in) == ("run-9", 20)


def test_calls_in_camel_case_are_calls() -> None:
    run, _ = fixtures.runs("lunary.jsonl")
    ask, answer = fixtures.steps(run, StepType.MODEL)
    search, booking = fixtures.steps(run, StepType.TOOL)
    assert ask.output == {"message": fixtures.CALL}
    assert fixtures.request_contents(answer) == [
        fixtures.SYSTEM["content"],
        fixtures.REQUEST["content"],
        None,
        "3 copies",
    ]
    assert (search.call_id, search.output) == ("call_1", "3 copies")
    assert (booking.status, booking.error) == (StepStatus.ERROR, "no such shelf")


def test_model_calls_have_parameters_tokens_and_costs() -> None:
    run, single = fixtures.runs("lunary.jsonl")
    step: Any = fixtures.steps(run, StepType.MODEL)[0]
    assert (step.tokens_in, step.tokens_out, step.tokens_cached, step.cost_usd) == (42, 9, 16, Decimal("0.0005"))
    assert step.input["parameters"] == {"temperature": 0.2}
    assert step.input["tools"] == [{"name": "find_book", "parameters": {"type": "object"}}]
    other: Any = single.steps[0].input
    assert other["parameters"] == {"max_tokens": 100}


def test_scores_and_feedback_are_judgements() -> None:
    run, _ = fixtures.runs("lunary.jsonl")
    assert [(item.name, item.kind, item.value, item.text, item.step) for item in run.judgements] == [
        ("accuracy", JudgementKind.SCORE, 0.9, "on topic", None),
        ("feedback", JudgementKind.PASS, None, "quick", None),
    ]
    assert run.metadata["user"] == {"id": "ann", "props": {"plan": "gold"}}


def test_rows_without_their_root_are_one_run() -> None:
    ((run,), problems) = fixtures.detect_and_read("lunary", orjson.dumps({"data": CHILDREN[:2]}))
    assert (run.external_id, [step.key for step in run.steps], problems) == ("run-0", ["run-1", "run-2"], [])
    pages = [{**SINGLE, "id": f"run-{number}", "traceId": "run-0"} for number in (1, 2)]
    ((run,), problems) = fixtures.detect_and_read("lunary", orjson.dumps({"data": pages, "total": 2}))
    assert (run.external_id, len(run.steps), problems) == ("run-0", 2, [])


@pytest.mark.parametrize("is_cycle", [False, True])
def test_long_chains_of_runs_are_read(is_cycle: bool) -> None:
    count = 20_000
    rows = [{**CHILDREN[1], "id": f"r{no}", "parentRunId": f"r{(no + 1) % count}"} for no in range(count)]
    if not is_cycle:
        rows[-1]["parentRunId"] = None
    ((run,), problems) = fixtures.detect_and_read("lunary", fixtures.json_lines(rows))
    assert (len(run.steps), problems) == (count, [])


@pytest.mark.parametrize("kind", [["llm"], {"llm": 1}, None, 7])
def test_run_of_an_odd_type_is_reported(kind: Any) -> None:
    runs, problems = fixtures.detect_and_read("lunary", orjson.dumps([SINGLE, {**SINGLE, "id": "x", "type": kind}]))
    assert runs == []
    assert problems == ["a run of Lunary needs `id`, a known `type` and `createdAt` (/1)"]
