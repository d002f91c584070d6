"""The pure parts of experiments: the matrix, the checks, and what rows have in common."""

import json
import time
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.checks import checks
from replay.checks.schemas import Check, CheckResult, ContainsCheck, JsonSchemaCheck, RegexCheck
from replay.core.plan import PlanRefusal
from replay.experiments.core import matrix
from replay.experiments.core.aggregation import aggregate
from replay.experiments.core.schemas import ExperimentRequest, ExperimentRowView, Setting
from replay.live import matching_process
from replay.live.matching_process import first_error_isolated
from traces.core.json_types import JSONObject
from traces.core.schema import LabelCounts

MODELS: dict[str, Any] = {"type": "model"}
NOBODY = UUID(int=0)


def request(*axes: dict[str, Any], **more: Any) -> ExperimentRequest:
    return ExperimentRequest.model_validate({"run": "r", "axes": list(axes), **more})


def axis(name: str, **values: list[dict[str, Any]]) -> dict[str, Any]:
    return {"name": name, "values": [{"name": key, "overrides": entries} for key, entries in values.items()]}


def model(**sets: Any) -> list[dict[str, Any]]:
    return [{"match": MODELS, "model": sets}]


def row(cell: int, sample: int, **known: Any) -> ExperimentRowView:
    said: dict[str, Any] = {
        "number": sample,
        "cell": cell,
        "sample": sample,
        "settings": [Setting(axis="a", value=str(cell))],
        "session": NOBODY,
        "run": None,
        "diff": None,
        "status": "completed_mixed",
        "queued": False,
        "resolved_steps": 1,
        "planned_steps": 1,
        "labels": LabelCounts(),
        "live_calls": 1,
        "cost_usd": None,
        "tokens_in": None,
        "tokens_out": None,
        "latency_ms": None,
        "ars": None,
        "output_similarity": None,
        "similarity_method": "",
        "new_tools": None,
        "unused_tools": None,
        "checks": None,
        "answer": "",
        "error": "",
    }
    return ExperimentRowView(**{**said, **known})


def passed(*results: bool) -> list[CheckResult]:
    return [CheckResult(name="c", passed=result, detail="") for result in results]


def test_every_combination_is_there_once_and_the_first_samples_come_first() -> None:
    asked = request(
        axis("model", small=model(model="s"), large=model(model="l")),
        axis("prompt", plain=[], polite=[{"match": MODELS, "prompt": {"system": "Please."}}]),
        samples=2,
    )
    found = matrix.cells(asked)
    assert [[setting.value for setting in cell.settings] for cell in found] == [
        ["small", "plain"],
        ["small", "polite"],
        ["large", "plain"],
        ["large", "polite"],
    ]
    assert [(place.sample, place.cell.number) for place in matrix.places(found, 2)] == [
        (1, 1),
        (1, 2),
        (1, 3),
        (1, 4),
        (2, 1),
        (2, 2),
        (2, 3),
        (2, 4),
    ]
    assert matrix.size(asked) == 8


def test_no_axes_are_one_cell() -> None:
    assert [cell.settings for cell in matrix.cells(request())] == [()]


@given(st.lists(st.integers(1, 4), max_size=4), st.integers(1, 5))
def test_the_size_is_the_number_of_rows(lengths: list[int], samples: int) -> None:
    axes = [
        {"name": f"a{at}", "values": [{"name": str(value)} for value in range(length)]}
        for at, length in enumerate(lengths)
    ]
    asked = request(*axes, samples=samples)
    rows = matrix.places(matrix.cells(asked), samples)
    assert len(rows) == matrix.size(asked)
    keys = {(place.sample, tuple(setting.value for setting in place.cell.settings)) for place in rows}
    assert len(keys) == len(rows)


def test_overrides_for_the_same_steps_become_one_and_the_axis_wins() -> None:
    base = {"overrides": [{"match": MODELS, "model": {"model": "m", "temperature": 1.0}}]}
    asked = request(axis("t", cold=model(temperature=0), hot=model(temperature=2)), overrides=base)
    said = [cell.overrides.model_dump(exclude_unset=True)["overrides"] for cell in matrix.cells(asked)]
    assert [[entry["model"] for entry in entries] for entries in said] == [
        [{"model": "m", "temperature": 0}],
        [{"model": "m", "temperature": 2}],
    ]


def test_what_a_step_answers_is_said_once() -> None:
    base = {"overrides": [{"match": {"step": 4}, "tool": {"output": "a"}}]}
    asked = request(axis("o", other=[{"match": {"step": 4}, "output": None}]), overrides=base)
    [cell] = matrix.cells(asked)
    assert [entry.sets for entry in cell.overrides.overrides] == [["output"]]


def test_a_refusal_points_to_the_axis_that_it_comes_from() -> None:
    base = {"overrides": [{"match": {"step": 4}, "output": "x"}]}
    [cell] = matrix.cells(request(axis("m", only=model(model="s")), overrides=base))
    refused = PlanRefusal(code="override_matches_nothing", detail="", where="/overrides/overrides/1/match")
    assert matrix.relocate(refused, cell).where == "/axes/0/values/0/overrides/0/match"
    of_run = refused.model_copy(update={"where": "/run"})
    assert matrix.relocate(of_run, cell) == of_run


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"samples": 2, "policy": {"order": "reuse"}}, ["/policy/order"]),
        ({"axes": [axis("a", x=[]), axis("a", y=[])]}, ["/axes"]),
        ({"axes": [{"name": "a", "values": [{"name": "x"}, {"name": "x"}]}]}, ["/axes/0/values"]),
        ({"axes": [{"name": "a", "values": [{"name": str(n)} for n in range(50)]}], "samples": 5}, ["/axes"]),
        (
            {
                "overrides": {"overrides": [{"match": {"step": n}, "output": 1} for n in range(1, 3_001)]},
                "axes": [{"name": "a", "values": [{"name": str(n)} for n in range(40)]}],
            },
            ["/axes"],
        ),
        ({"samples": 50}, []),
    ],
)
def test_a_matrix_that_makes_no_sense_is_refused(changes: dict[str, Any], where: list[str]) -> None:
    asked = ExperimentRequest.model_validate({"run": "r", **changes})
    assert [refusal.where for refusal in matrix.refusals(asked)] == where


def test_samples_ask_again_unless_told_otherwise() -> None:
    assert request().policy.order == "reexecute"
    assert request(policy={"max_turns": 3}).policy.order == "reexecute"
    assert request(policy={"order": "reuse"}).policy.order == "reuse"


@pytest.mark.parametrize(
    ("check", "answer", "good"),
    [
        (ContainsCheck(kind="contains", text="42.00"), "I refunded 42.00 EUR", True),
        (ContainsCheck(kind="contains", text="eur"), "42 EUR", False),
        (ContainsCheck(kind="contains", text="eur", ignore_case=True), "42 EUR", True),
        (ContainsCheck(kind="not_contains", text="sorry"), "Done.", True),
        (ContainsCheck(kind="not_contains", text="sorry"), "I am sorry.", False),
        (RegexCheck(kind="regex", pattern=r"\d+\.\d{2} EUR"), "It is 42.00 EUR now", True),
        (RegexCheck(kind="regex", pattern=r"^\d+$"), "42 EUR", False),
        (RegexCheck(kind="regex", pattern=r"(?i)eur"), "EUR", True),
        (JsonSchemaCheck(kind="json_schema", document={"required": ["a"]}), '{"a": 1}', True),
        (JsonSchemaCheck(kind="json_schema", document={"required": ["a"]}), '```json\n{"a": 1}\n```', True),
        (JsonSchemaCheck(kind="json_schema", document={"required": ["a"]}), '{"b": 1}', False),
        (JsonSchemaCheck(kind="json_schema", document={"type": "object"}), "a is 1", False),
    ],
)
def test_a_check_passes_or_says_why_not(check: Check, answer: str, good: bool) -> None:
    [result] = checks.apply([check], checks.Outcome(answer=answer), first_error_isolated)
    assert (result.passed, bool(result.detail)) == (good, not good)


@pytest.mark.parametrize(
    "check",
    [
        RegexCheck(kind="regex", pattern="("),
        RegexCheck(kind="regex", pattern=r"(a)\1"),
        JsonSchemaCheck(kind="json_schema", document={"type": "nonsense"}),
        JsonSchemaCheck(kind="json_schema", document={"pattern": "("}),
        JsonSchemaCheck(kind="json_schema", document={"$ref": "http://127.0.0.1:9/schema.json"}),
        JsonSchemaCheck(kind="json_schema", document={"$ref": "file:///etc/hostname"}),
    ],
)
def test_a_check_that_cannot_be_applied_is_known_before(check: Check) -> None:
    assert "cannot be used" in checks.problem(check)


def _doubled(times: int) -> JSONObject:
    """A schema of a few parts that refers to itself so often that nobody lives to see the end of it."""
    twice: JSONObject = {f"a{at}": {"allOf": [{"$ref": f"#/$defs/a{at + 1}"}] * 2} for at in range(times)}
    return {"$defs": {**twice, f"a{times}": {}}, "$ref": "#/$defs/a0"}


@pytest.mark.parametrize(
    ("document", "why"),
    [(_doubled(60), "unfold to more than"), ({"enum": ["x" * 500_000]}, "larger than"), ({"$ref": "#/$defs/a"}, "/a")],
)
def test_a_schema_that_is_too_much_is_refused_before(document: JSONObject, why: str) -> None:
    assert why in checks.problem(JsonSchemaCheck(kind="json_schema", document=document))


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("```\n" + "\n" * 300_000 + "x", "not JSON"),
        ('"\\ud800"', "not JSON"),
        ("NaN", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[" * 1_000 + "]" * 1_000, "cannot be decided"),
    ],
)
def test_no_answer_brings_a_schema_check_down(answer: str, why: str) -> None:
    check = JsonSchemaCheck(kind="json_schema", document={"type": "object"})
    [result] = checks.apply([check], checks.Outcome(answer=answer), first_error_isolated)
    assert why in result.detail


@pytest.mark.parametrize(
    ("check", "answer"),
    [
        (
            JsonSchemaCheck(
                kind="json_schema", document={"allOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]}
            ),
            "[" * 60 + "]" * 60,
        ),
        (RegexCheck(kind="regex", pattern="([ab]{0,99}){0,30}[cd][^a-z]"), "ab" * 500_000),
    ],
)
def test_what_takes_too_long_is_given_up(check: Check, answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching_process, "LIMIT_S", 0.5)
    [result] = checks.apply([check], checks.Outcome(answer=answer), first_error_isolated)
    assert "took longer" in result.detail


def test_a_schema_that_refers_to_itself_holds_for_what_is_nested() -> None:
    check = JsonSchemaCheck(kind="json_schema", document={"type": "object", "additionalProperties": {"$ref": "#"}})
    fits, does_not = (
        checks.apply([check], checks.Outcome(answer=text), first_error_isolated)[0]
        for text in ('{"a": {}}', '{"a": {"b": 1}}')
    )
    assert fits.passed
    assert does_not.detail.startswith("/a/b: ")


@pytest.mark.parametrize("schema", [False, True])
def test_a_pattern_that_would_take_for_ever_elsewhere_does_not_here(schema: bool) -> None:
    pattern = r"^(a+)+$"
    check: Check = RegexCheck(kind="regex", pattern=pattern)
    if schema:
        check = JsonSchemaCheck(kind="json_schema", document={"pattern": pattern})
    answer = "a" * 50_000 + "!"
    started = time.process_time()
    [result] = checks.apply(
        [check], checks.Outcome(answer=json.dumps(answer) if schema else answer), first_error_isolated
    )
    assert not result.passed
    assert time.process_time() - started < 30  # backtracking would take longer than the universe has


def test_a_cell_has_mean_least_and_most_of_what_is_known() -> None:
    [cell] = aggregate([row(1, 1, ars=0.5, tokens_in=10), row(1, 2, ars=1.0, tokens_in=20, tokens_out=10), row(1, 3)])
    assert cell.ars is not None
    assert (cell.ars.mean, cell.ars.min, cell.ars.max) == (0.75, 0.5, 1.0)
    assert cell.tokens is not None
    assert cell.tokens.mean == 20
    assert cell.cost_usd is None
    assert (cell.rows, cell.finished, cell.pass_rate) == (3, 3, None)


def test_a_failed_row_passed_no_check_and_a_cancelled_one_says_nothing() -> None:
    rows = [
        row(1, 1, checks=passed(True, True)),
        row(1, 2, checks=passed(True, False)),
        row(1, 3, status="failed_execution"),
        row(1, 4, status="cancelled"),
        row(2, 1, checks=passed(True)),
    ]
    first, second = aggregate(rows)
    assert first.pass_rate == pytest.approx(1 / 3)
    assert (first.finished, first.failed, second.pass_rate) == (2, 1, 1.0)
