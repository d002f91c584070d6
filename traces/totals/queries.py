"""Read the usage totals: by model, tool, app and day."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final
from uuid import UUID

from django.db.models import Max, QuerySet, Sum

from traces.core.vocabulary import RunSource, StepType
from traces.models import Run, UsageTotal
from traces.storage import bulk
from traces.totals.schemas import AppTotals, CallTotals, DayTotals, ModelTotals, ToolTotals, UsageReport
from traces.totals.usage_totals import SUMS

_COST_UNITS: Final = 100_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class UsageFilter:
    """The runs to sum up: those of some apps, or of all, that started on the days from `first` to `last`."""

    apps: Sequence[str] = ()
    first: date | None = None
    last: date | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCalls:
    """Calls of a tool in an app, and the newest run with one. Replays do not count as calls."""

    tool: str
    app: str
    calls: int
    newest_run: UUID


def report(usage_filter: UsageFilter) -> UsageReport:
    """Return the usage of models and tools, most calls first."""
    totals = _matches(usage_filter)
    models, tools = totals.filter(type=StepType.MODEL), totals.filter(type=StepType.TOOL)
    return UsageReport(
        models=[
            ModelTotals(provider=row["provider"], model=row["name"], totals=_call_totals(row))
            for row in _sums(models, "provider", "name")
        ],
        tools=[ToolTotals(tool=row["name"], totals=_call_totals(row)) for row in _sums(tools, "name")],
        apps=[AppTotals(app=row["app"], totals=_call_totals(row)) for row in _sums(models, "app")],
        days=sorted(
            (DayTotals(day=row["day"], totals=_call_totals(row)) for row in _sums(models, "day")),
            key=lambda totals: totals.day,
        ),
    )


def tool_calls() -> list[ToolCalls]:
    """Return the calls of every tool by app."""
    totals = UsageTotal.objects.filter(type=StepType.TOOL)
    made_calls = totals.exclude(source__in=(RunSource.REPLAY, RunSource.PROBE))
    counts = {(row["name"], row["app"]): row["calls"] for row in _sums(made_calls, "name", "app")}
    newest_runs = totals.exclude(newest_run="").values_list("name", "app").annotate(newest=Max("newest_run")).order_by()
    return [
        ToolCalls(tool=tool, app=app, calls=counts.get((tool, app), 0), newest_run=UUID(newest))
        for tool, app, newest in newest_runs
    ]


def _matches(usage_filter: UsageFilter) -> QuerySet[UsageTotal]:
    totals = UsageTotal.objects.exclude(source=RunSource.PROBE)
    if usage_filter.apps:
        totals = totals.filter(app__in=usage_filter.apps)
    if usage_filter.first:
        totals = totals.filter(day__gte=usage_filter.first)
    if usage_filter.last:
        totals = totals.filter(day__lte=usage_filter.last)
    return totals


def _sums(totals: QuerySet[UsageTotal], *keys: str) -> list[dict[str, Any]]:
    """Return the sums by keys, without those that are zero because their runs were deleted."""
    rows = totals.values(*keys).annotate(**{f"sum_{name}": Sum(name) for name in SUMS}).order_by("-sum_calls", *keys)
    named_rows = ({name.removeprefix("sum_"): value for name, value in row.items()} for row in rows)
    return [row for row in named_rows if row["calls"] or row["reused_calls"]]


def _call_totals(row: dict[str, Any]) -> CallTotals:
    columns = {name: int(row[name]) for name in SUMS if name != "cost"}
    is_priced = row["cost"] or row["unpriced_calls"] < row["calls"]
    return CallTotals(**columns, cost_usd=row["cost"] / _COST_UNITS if is_priced else None)


def creation_times(run_ids: Sequence[UUID]) -> dict[UUID, Any]:
    """Return when these runs were created; deleted ones are absent."""
    times: dict[UUID, Any] = {}
    for chunk in bulk.chunks(run_ids):
        times |= dict(Run.objects.filter(id__in=chunk).values_list("id", "created_at"))
    return times
