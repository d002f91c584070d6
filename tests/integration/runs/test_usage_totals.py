"""Usage over all runs: totals that follow every run that is sealed, continued or deleted."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from tests.support.recordings import NOON, assistant, model_step, order_run, tool_step, user
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import Label, RunStatus, StepStatus
from traces.models import Run, UsageTotal
from traces.runs import services
from traces.totals import usage_totals

pytestmark = pytest.mark.django_db


def _report(**query: str) -> Any:
    response = Client().get("/api/v1/usage", query)
    assert response.status_code == 200, response.content
    return response.json()


def _run(name: str, *, calls: int = 1, **columns: Any) -> RecordedRun:
    """Build a run of model calls and one failed tool call."""
    models = [
        model_step(
            f"{name}-{at}", [user("Hi")], assistant("Hi"), tokens_in=10, tokens_out=2, cost_usd=Decimal("0.00000003")
        )
        for at in range(calls)
    ]
    tool = tool_step(f"{name}-tool", "c1", "A-1", None, status=StepStatus.ERROR, error="down")
    return replace(order_run(name), steps=(tool, *models), started_at=NOON, **columns)


def _record(run: RecordedRun) -> Run:
    return Run.objects.get(id=services.record(run).run_id)


def _calls() -> int:
    return sum(row["totals"]["calls"] for row in _report()["models"])


def test_report_sums_up_models_tools_apps_and_days() -> None:
    _record(_run("a", calls=2))
    _record(_run("b", app="shop"))
    report = _report()
    (model,), (tool,) = report["models"], report["tools"]
    assert (model["provider"], model["model"]) == ("openai", "gpt-4o")
    assert model["totals"] == {
        "calls": 3,
        "reused_calls": 0,
        "failed_calls": 0,
        "tokens_in": 30,
        "tokens_out": 6,
        "tokens_cached": 0,
        "cost_usd": 9e-08,
        "unpriced_calls": 0,
    }
    assert (tool["tool"], tool["totals"]["calls"], tool["totals"]["failed_calls"]) == ("get_order", 2, 2)
    assert [(row["app"], row["totals"]["calls"]) for row in report["apps"]] == [("desk", 2), ("shop", 1)]
    assert [(row["day"], row["totals"]["calls"]) for row in report["days"]] == [("2026-03-01", 3)]
    assert _report(app="shop")["models"][0]["totals"]["calls"] == 1
    assert _report(first="2026-03-02")["models"] == []
    assert _report(last="2026-03-01")["models"][0]["totals"]["calls"] == 3


def test_wrong_day_is_rejected() -> None:
    assert Client().get("/api/v1/usage", {"first": "soon"}).status_code == 400


def test_reused_calls_cost_nothing() -> None:
    source = _record(_run("a", calls=2))
    fork = services.open_run(name="fork", app="desk", source_run=source)
    services.copy_steps(source_run_id=source.id, run_id=fork.id, first=1, last=2, label=Label.EXACT, reason="")
    services.copy_steps(source_run_id=source.id, run_id=fork.id, first=3, last=3, label=Label.LIVE, reason="")
    services.seal_run(fork.id, RunStatus.COMPLETED)
    (model,) = _report()["models"]
    assert (model["totals"]["calls"], model["totals"]["reused_calls"], model["totals"]["tokens_in"]) == (3, 1, 30)
    assert usage_totals.differences() == []


def test_revision_replaces_the_one_that_it_continues() -> None:
    _record(_run("a", calls=1))
    _record(_run("a", calls=3))
    assert (_calls(), usage_totals.differences()) == (3, [])


def test_merging_changes_no_total(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage_totals, "_MIN_ROWS", 1)
    for number in range(4):
        _record(_run(f"run-{number}"))
    rows, report = UsageTotal.objects.count(), _report()
    assert usage_totals.merge()
    assert (UsageTotal.objects.count() < rows, _report(), usage_totals.differences()) == (True, report, [])
    assert not usage_totals.merge()


def test_wrong_totals_are_found_and_rebuilt() -> None:
    _record(_run("a"))
    UsageTotal.objects.filter(type="model").update(calls=7)
    (difference,) = usage_totals.differences()
    assert "gpt-4o" in difference
    usage_totals.rebuild()
    assert (_calls(), usage_totals.differences()) == (1, [])
