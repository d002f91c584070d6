"""Reading hooks, their decisions, and the telemetry counters."""

from typing import Any
from uuid import UUID

from replay.core.vocabulary import ExportStatus
from replay.hook_reports.schemas import (
    HookFailureView,
    HookList,
    HookOutcomeList,
    HookOutcomeView,
    HookView,
    TelemetryView,
)
from replay.hooks import configuration
from replay.hooks.configuration import HookEntry, TelemetryEntry
from replay.models import HookOutcome, LangfuseExport, TelemetryCount
from traces.core.vocabulary import HookEvent
from traces.http.paging import Page, cut


def configured_hooks() -> HookList:
    counts = {row.target: row for row in TelemetryCount.objects.all()}
    return HookList(
        hooks=[_hook(name, entry) for name, entry in configuration.hooks().items()],
        targets=[_target(name, entry, counts.get(name)) for name, entry in configuration.targets().items()],
    )


def outcomes(session_id: UUID, page: Page) -> HookOutcomeList:
    rows, rest = cut(HookOutcome.objects.filter(session_id=session_id), page)
    return HookOutcomeList(outcomes=[_outcome(row) for row in rows], next=rest)


def _hook(name: str, entry: HookEntry) -> HookView:
    return HookView(
        name=name,
        events=sorted(entry.events, key=list(HookEvent).index),
        matcher=entry.matcher,
        gate=entry.gate,
        place=entry.place,
        problem=configuration.missing_variable(entry.http),
    )


def _target(name: str, entry: TelemetryEntry, count: TelemetryCount | None) -> TelemetryView:
    if entry.langfuse is not None:
        return _langfuse(name, entry)
    row = count or TelemetryCount(target=name)
    return TelemetryView(
        name=name,
        kind="http" if entry.http is not None else "jsonl",
        place=entry.place,
        events=list(entry.events),
        problem=configuration.problem(entry),
        sent=row.sent,
        dropped=row.dropped,
        error=row.error,
        error_at=row.error_at,
        sent_at=row.sent_at,
    )


def _langfuse(name: str, entry: TelemetryEntry) -> TelemetryView:
    """Counted in events of exports."""
    rows = LangfuseExport.objects.filter(target=name)
    totals: dict[str, Any] = {"sent": 0, "dropped": 0}
    for finished_events, rejected_events in rows.values_list("done_events", "rejected"):
        totals["sent"] += finished_events - rejected_events
        totals["dropped"] += rejected_events
    failed = rows.exclude(error="").order_by("-created_at").first()
    newest = rows.filter(status=ExportStatus.DONE).order_by("-ended_at").first()
    return TelemetryView(
        name=name,
        kind="langfuse",
        place=entry.place,
        events=[],
        **totals,
        problem=configuration.problem(entry),
        error=failed.error if failed else "",
        error_at=(failed.ended_at or failed.heartbeat_at) if failed else None,
        sent_at=newest.ended_at if newest else None,
    )


def _outcome(row: HookOutcome) -> HookOutcomeView:
    return HookOutcomeView(
        sequence_no=row.sequence_no,
        event=HookEvent(row.event),
        tool_name=row.tool_name,
        asked=row.asked,
        hook=row.hook,
        decision=row.decision,
        at=row.at,
        failures=[HookFailureView(hook=hook, error=error) for hook, error in row.failures],
    )
