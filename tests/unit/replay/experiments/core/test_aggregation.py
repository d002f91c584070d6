"""The figures of a cell of an experiment."""

from typing import Any
from uuid import UUID

import pytest

from replay.checks.schemas import CheckResult
from replay.experiments.core.aggregation import aggregate
from replay.experiments.core.schemas import ExperimentRowView, Setting
from traces.core.schema import LabelCounts

NO_SESSION = UUID(int=0)


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
        "unverified": "",
        "answer": "",
        "error": "",
    }
    return ExperimentRowView(**{**defaults, **columns})


def check_results(*results: bool) -> list[CheckResult]:
    return [CheckResult(name="c", passed=result, detail="") for result in results]


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


def test_unverified_rows_are_not_failures() -> None:
    """A placeholder for an answer fails a check of its text, which says nothing about the model."""
    rows = [
        row(1, 1, checks=check_results(True)),
        row(1, 2, checks=check_results(False), unverified="a placeholder stands for the model's answer at step 7"),
        row(2, 1, checks=check_results(False), unverified="a placeholder stands for the model's answer at step 7"),
    ]
    first, second = aggregate(rows)
    assert (first.passed, first.verdicts, first.unverified, first.pass_rate) == (1, 1, 1, 1.0)
    assert (second.verdicts, second.unverified, second.pass_rate, second.pass_interval) == (0, 1, None, None)


def test_interval_of_a_rate() -> None:
    [cell] = aggregate([row(1, sample, checks=check_results(sample < 3)) for sample in range(1, 5)])
    assert (cell.passed, cell.verdicts) == (2, 4)
    assert cell.pass_interval is not None
    assert (cell.pass_interval.low, cell.pass_interval.high) == pytest.approx((0.15, 0.85), abs=0.005)
