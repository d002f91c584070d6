"""Read calibrations and ignore lists."""

from collections.abc import Collection, Iterable
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from replay.calibration.core.schemas import (
    CalibrationList,
    CalibrationSummary,
    CalibrationView,
    IgnoreLists,
    IgnoreListView,
    Proposal,
)
from replay.models import Calibration
from traces.call_index import ignore_lists
from traces.models import IgnoreList
from traces.runs.queries import by_id
from traces.signatures.ignore_rules import IgnoreRule


def find(ref: str | UUID) -> Calibration:
    """Find a calibration by id; raises `NotFound`."""
    return by_id(Calibration.objects.select_related("base", "candidate"), ref, "calibration")


def listed_rows() -> QuerySet[Calibration]:
    """Return the calibrations without their findings."""
    rows = Calibration.objects.select_related("base", "candidate")
    return rows.defer("found", "base__metadata", "candidate__metadata")


def newest(*, limit: int) -> CalibrationList:
    """List the newest calibrations."""
    rows = Calibration.objects.select_related("base", "candidate").order_by("-id")[:limit]
    rules_by_app = _newest_rules({row.base.app for row in rows})
    return CalibrationList(calibrations=[_summary(row, rules_by_app.get(row.base.app, ())) for row in rows])


def _newest_rules(apps: Iterable[str]) -> dict[str, list[IgnoreRule]]:
    """Return the rules of each app's newest list, also if calls are still being signed under it."""
    rows = IgnoreList.objects.filter(app__in=apps).order_by("app", "version")
    return {row.app: list_view(row).rules for row in rows}


def _summary(row: Calibration, rules: Collection[IgnoreRule]) -> CalibrationSummary:
    proposals = [Proposal.model_validate(proposal) for proposal in row.found["proposals"]]
    collisions = {(collision.side, *collision.steps) for proposal in proposals for collision in proposal.collisions}
    return CalibrationSummary(
        id=row.id,
        app=row.base.app,
        base=row.base_id,
        base_name=row.base.name,
        candidate=row.candidate_id,
        candidate_name=row.candidate.name,
        created_at=row.created_at,
        fields=[proposal.rule for proposal in proposals],
        ignored_count=sum(proposal.rule in rules for proposal in proposals),
        recommendations=[
            index for index, proposal in enumerate(proposals) if proposal.recommended and proposal.rule not in rules
        ],
        gain=len(row.found["unified"]),
        collisions=len(collisions),
    )


def view(row: Calibration) -> CalibrationView:
    findings: dict[str, Any] = row.found
    current = ignore_lists.active(row.base.app)
    return CalibrationView.model_validate(
        {
            **findings,
            "id": row.id,
            "app": row.base.app,
            "base": row.base_id,
            "base_name": row.base.name,
            "candidate": row.candidate_id,
            "candidate_name": row.candidate.name,
            "created_at": row.created_at,
            "current": None if current is None else list_view(current),
        }
    )


def list_view(row: IgnoreList) -> IgnoreListView:
    return IgnoreListView(
        app=row.app,
        version=row.version,
        digest=row.digest,
        by=row.by,
        at=row.at,
        ready_at=row.ready_at,
        rules=[IgnoreRule.model_validate(rule) for rule in row.rules],
    )


def lists(app: str | None = None) -> IgnoreLists:
    """List all versions of the ignore lists, of one app or of all."""
    rows = IgnoreList.objects.order_by("app", "-version")
    return IgnoreLists(lists=[list_view(row) for row in (rows.filter(app=app) if app else rows)])
