"""Read the activity list.

Ids are ordered by time, so a page is merged from the newest rows of each kind, which the primary keys provide.
The number of queries does not depend on the length of the page.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db.models import Exists, Model, OuterRef, QuerySet

from diffing import queries as diffs
from diffing.models import DiffReport
from replay.activity import entries
from replay.activity.filters import ActivityFilter
from replay.activity.schemas import Activity, ActivityList, Authors, Kind
from replay.bisection import queries as bisections
from replay.calibration import queries as calibrations
from replay.experiments import queries as experiments
from replay.models import Bisection, Calibration, Experiment, Proof, ReplaySession
from replay.proofs import queries as proofs
from replay.sessions import queries as sessions


def page(activity_filter: ActivityFilter, *, cursor: UUID | None, limit: int) -> ActivityList:
    """Return the newest entries that pass the filter, with an id below the cursor."""
    rows = {kind: _newest_rows(kind, activity_filter, cursor, limit + 1) for kind in activity_filter.kinds}
    ids = sorted((row.pk for kind_rows in rows.values() for row in kind_rows), reverse=True)[:limit]
    last = ids[-1] if ids else None
    activities = [
        entry
        for kind, kind_rows in rows.items()
        for entry in _SOURCES[kind].entries([row for row in kind_rows if row.pk >= last])
    ]
    is_last = sum(map(len, rows.values())) <= limit
    return ActivityList(
        activities=sorted(activities, key=lambda entry: entry.id, reverse=True), next=None if is_last else last
    )


def _listed_reports() -> QuerySet[DiffReport]:
    """Return the reports without those of probes: their search is in the list."""
    probes = ReplaySession.objects.filter(run=OuterRef("candidate"), is_probe=True)
    return diffs.listed_rows().filter(~Exists(probes))


def authors() -> Authors:
    """Return the names of those who started anything, in alphabetical order."""
    names: set[str] = set()
    for model in _MODELS:
        names.update(model._default_manager.exclude(by="").values_list("by", flat=True).distinct())
    return Authors(authors=sorted(names))


@dataclass(frozen=True)
class _Source:
    """The rows of one kind, and their entries in the list."""

    rows: Callable[[], QuerySet[Any]]
    entries: Callable[[Sequence[Any]], list[Activity]]


def _newest_rows(kind: Kind, activity_filter: ActivityFilter, cursor: UUID | None, limit: int) -> list[Model]:
    rows = _SOURCES[kind].rows().filter(activity_filter.condition(kind))
    if cursor is not None:
        rows = rows.filter(id__lt=cursor)
    return list(rows.order_by("-id")[:limit])


_MODELS: Final[Sequence[type[Model]]] = (ReplaySession, DiffReport, Proof, Experiment, Bisection, Calibration)
_SOURCES: Final[Mapping[Kind, _Source]] = {
    "replay": _Source(sessions.listed_rows, entries.replays),
    "diff": _Source(_listed_reports, entries.reports),
    "proof": _Source(proofs.listed_rows, entries.proofs),
    "experiment": _Source(experiments.listed_rows, entries.matrices),
    "bisection": _Source(bisections.listed_rows, entries.searches),
    "calibration": _Source(calibrations.listed_rows, entries.calibrations),
}
