"""The pure parts of experiments: the matrix, the checks, and aggregation."""

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
NO_SESSION = UUID(int=0)


def request(*axes: dict[str, Any], **more: Any) -> ExperimentRequest:
    return ExperimentRequest.model_validate({"run": "r", "axes": list(axes), **more})


def axis(name: str, **values: list[dict[str, Any]]) -> dict[str, Any]:
    return {"name": name, "values": [{"name": key, "overrides": entries} for key, entries in values.items()]}


def model(**sets: Any) -> list[dict[str, Any]]:
    return [{"match": MODELS, "model": sets}]


def row(cell: int, sample: int, **columns: Any) -> ExperimentRowView:
    defaults: dict[str, Any] = {
        "number": sample,
        "cell": cell,
        "sample": sample,
        "settings": [Setting(axis="a", value=str(cell))],
        "session": NO_SESSION,
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
    return ExperimentRowView(**{**defaults, **columns})


def check_results(*results: bool) -> list[CheckResult]:
    return [CheckResult(name="c", passed=result, detail="") for result in results]


def test_cells_cover_every_combination_in_order() -> None:
    experiment_request = request(
        axis("model", small=model(model="s"), large=model(model="l")),
        axis("prompt", plain=[], polite=[{"match": MODELS, "prompt": {"system": "Please."}}]),
        samples=2,
    )
    cells = matrix.cells(experiment_request)
    assert [[setting.value for setting in cell.settings] for cell in cells] == [
        ["small", "plain"],
        ["small", "polite"],
        ["large", "plain"],
        ["large", "polite"],
    ]
    assert [(place.sample, place.cell.number) for place in matrix.places(cells, 2)] == [
        (1, 1),
        (1, 2),
        (1, 3),
        (1, 4),
        (2, 1),
        (2, 2),
        (2, 3),
        (2, 4),
    ]
    assert matrix.size(experiment_request) == 8


def test_no_axes_make_one_cell() -> None:
    assert [cell.settings for cell in matrix.cells(request())] == [()]


@given(st.lists(st.integers(1, 4), max_size=4), st.integers(1, 5))
def test_size_is_the_number_of_rows(lengths: list[int], samples: int) -> None:
    axes = [
        {"name": f"a{at}", "values": [{"name": str(value)} for value in range(length)]}
        for at, length in enumerate(lengths)
    ]
    experiment_request = request(*axes, samples=samples)
    rows = matrix.places(matrix.cells(experiment_request), samples)
    assert len(rows) == matrix.size(experiment_request)
    keys = {(place.sample, tuple(setting.value for setting in place.cell.settings)) for place in rows}
    assert len(keys) == len(rows)


def test_axis_overrides_win_when_merged() -> None:
    base = {"overrides": [{"match": MODELS, "model": {"model": "m", "temperature": 1.0}}]}
    experiment_request = request(axis("t", cold=model(temperature=0), hot=model(temperature=2)), overrides=base)
    entries_by_cell = [
        cell.overrides.model_dump(exclude_unset=True)["overrides"] for cell in matrix.cells(experiment_request)
    ]
    assert [[entry["model"] for entry in entries] for entries in entries_by_cell] == [
        [{"model": "m", "temperature": 0}],
        [{"model": "m", "temperature": 2}],
    ]


def test_output_replaces_tool_override() -> None:
    base = {"overrides": [{"match": {"step": 4}, "tool": {"output": "a"}}]}
    experiment_request = request(axis("o", other=[{"match": {"step": 4}, "output": None}]), overrides=base)
    [cell] = matrix.cells(experiment_request)
    assert [entry.sets for entry in cell.overrides.overrides] == [["output"]]


def test_refusal_points_to_its_axis() -> None:
    base = {"overrides": [{"match": {"step": 4}, "output": "x"}]}
    [cell] = matrix.cells(request(axis("m", only=model(model="s")), overrides=base))
    refusal = PlanRefusal(code="override_matches_nothing", detail="", where="/overrides/overrides/1/match")
    assert matrix.relocate(refusal, cell).where == "/axes/0/values/0/overrides/0/match"
    of_run = refusal.model_copy(update={"where": "/run"})
    assert matrix.relocate(of_run, cell) == of_run


@pytest.mark.parametrize(
    ("changes", "pointers"),
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
def test_invalid_matrix_is_refused(changes: dict[str, Any], pointers: list[str]) -> None:
    experiment_request = ExperimentRequest.model_validate({"run": "r", **changes})
    assert [refusal.where for refusal in matrix.refusals(experiment_request)] == pointers


def test_samples_reexecute_by_default() -> None:
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
def test_check_passes_or_states_a_reason(check: Check, answer: str, good: bool) -> None:
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
def test_unusable_check_is_detected_early(check: Check) -> None:
    assert "cannot be used" in checks.problem(check)


def _exponential_schema(times: int) -> JSONObject:
    """A small schema whose references expand exponentially."""
    twice: JSONObject = {f"a{at}": {"allOf": [{"$ref": f"#/$defs/a{at + 1}"}] * 2} for at in range(times)}
    return {"$defs": {**twice, f"a{times}": {}}, "$ref": "#/$defs/a0"}


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (_exponential_schema(60), "unfold to more than"),
        ({"enum": ["x" * 500_000]}, "larger than"),
        ({"$ref": "#/$defs/a"}, "/a"),
    ],
)
def test_oversized_schema_is_refused(document: JSONObject, reason: str) -> None:
    assert reason in checks.problem(JsonSchemaCheck(kind="json_schema", document=document))


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("```\n" + "\n" * 300_000 + "x", "not JSON"),
        ('"\\ud800"', "not JSON"),
        ("NaN", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[" * 1_000 + "]" * 1_000, "cannot be decided"),
    ],
)
def test_malformed_answers_fail_schema_checks(answer: str, reason: str) -> None:
    check = JsonSchemaCheck(kind="json_schema", document={"type": "object"})
    [result] = checks.apply([check], checks.Outcome(answer=answer), first_error_isolated)
    assert reason in result.detail


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
def test_slow_match_is_stopped(check: Check, answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching_process, "LIMIT_S", 0.5)
    [result] = checks.apply([check], checks.Outcome(answer=answer), first_error_isolated)
    assert "took longer" in result.detail


def test_recursive_schema_applies_to_nested_values() -> None:
    check = JsonSchemaCheck(kind="json_schema", document={"type": "object", "additionalProperties": {"$ref": "#"}})
    fits, does_not = (
        checks.apply([check], checks.Outcome(answer=text), first_error_isolated)[0]
        for text in ('{"a": {}}', '{"a": {"b": 1}}')
    )
    assert fits.passed
    assert does_not.detail.startswith("/a/b: ")


@pytest.mark.parametrize("schema", [False, True])
def test_pathological_pattern_takes_linear_time(schema: bool) -> None:
    pattern = r"^(a+)+$"
    check: Check = RegexCheck(kind="regex", pattern=pattern)
    if schema:
        check = JsonSchemaCheck(kind="json_schema", document={"pattern": pattern})
    answer = "a" * 50_000 + "!"
    start = time.process_time()
    [result] = checks.apply(
        [check], checks.Outcome(answer=json.dumps(answer) if schema else answer), first_error_isolated
    )
    assert not result.passed
    assert time.process_time() - start < 30  # backtracking would take longer than the universe has


def test_cell_aggregates_known_values() -> None:
    [cell] = aggregate([row(1, 1, ars=0.5, tokens_in=10), row(1, 2, ars=1.0, tokens_in=20, tokens_out=10), row(1, 3)])
    assert cell.ars is not None
    assert (cell.ars.mean, cell.ars.min, cell.ars.max) == (0.75, 0.5, 1.0)
    assert cell.tokens is not None
    assert cell.tokens.mean == 20
    assert cell.cost_usd is None
    assert (cell.rows, cell.finished, cell.pass_rate) == (3, 3, None)


def test_failed_rows_count_and_cancelled_do_not() -> None:
    rows = [
        row(1, 1, checks=check_results(True, True)),
        row(1, 2, checks=check_results(True, False)),
        row(1, 3, status="failed_execution"),
        row(1, 4, status="cancelled"),
        row(2, 1, checks=check_results(True)),
    ]
    first, second = aggregate(rows)
    assert first.pass_rate == pytest.approx(1 / 3)
    assert (first.finished, first.failed, second.pass_rate) == (2, 1, 1.0)
