"""Read bisections."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Literal
from uuid import UUID

from django.db.models import QuerySet

from diffing.models import DiffReport
from replay.bisection import findings
from replay.bisection.core.conclusion import conclude
from replay.bisection.core.schemas import (
    BisectionChanged,
    BisectionList,
    BisectionSummary,
    BisectionView,
    BisectResult,
    ForkStep,
    ProbeView,
)
from replay.checks.schemas import CheckResult
from replay.core.vocabulary import BisectionStatus, Engine, ProbeVerdict
from replay.models import Bisection, BisectionProbe, ReplaySession
from replay.runners.queries import missing_runner
from traces.runs.queries import by_id


def find(ref: str | UUID) -> Bisection:
    """Return a bisection by id; raises `NotFound`."""
    return by_id(Bisection.objects.select_related("run"), ref, "bisection")


def view(bisection: Bisection) -> BisectionView:
    """The current state of a bisection, with its result so far."""
    probes = _probes([bisection])[bisection.id]
    forks = findings.forks_of(bisection)
    result = conclude(findings.evidence_of(bisection, probes))
    summary = _summary(bisection, probes, result)
    request = findings.request_of(bisection)
    may_wait = summary.status is BisectionStatus.RUNNING and request.engine is Engine.AGENT
    return BisectionView(
        **dict(summary),
        seq=bisection.last_seq,
        waits_for=missing_runner(ReplaySession.objects.filter(bisection_probe__bisection=bisection))
        if may_wait
        else "",
        side=_side(bisection),
        fork_steps=[fork.sequence_no for fork in forks],
        request=request,
        recorded=[CheckResult.model_validate(result) for result in bisection.recorded],
        result=result,
        results=[_probe(probe, forks) for probe in probes],
    )


def _side(bisection: Bisection) -> Literal["base", "candidate"] | None:
    if bisection.diff_id is None:
        return None
    base = DiffReport.objects.filter(id=bisection.diff_id).values_list("base_id", flat=True).first()
    return "base" if base == bisection.run_id else "candidate"


def newest(*, run: UUID | None = None, limit: int = 50) -> BisectionList:
    """The newest bisections, of one run or of all."""
    bisections = listed_rows().order_by("-id")
    if run is not None:
        bisections = bisections.filter(run_id=run)
    return BisectionList(bisections=summaries(bisections[:limit]))


def listed_rows() -> QuerySet[Bisection]:
    return Bisection.objects.select_related("run")


def summaries(bisections: Iterable[Bisection]) -> list[BisectionSummary]:
    """The summaries of bisections, with one query for the probes of all."""
    bisections = list(bisections)
    probes = _probes(bisections)
    results = [conclude(findings.evidence_of(bisection, probes[bisection.id])) for bisection in bisections]
    return [
        _summary(bisection, probes[bisection.id], result) for bisection, result in zip(bisections, results, strict=True)
    ]


def changed_after(bisection_id: UUID, after: int) -> list[BisectionChanged]:
    """The current state of a bisection, for a watcher who has not seen its last change."""
    bisection = find(bisection_id)
    if bisection.last_seq <= after:
        return []
    return [BisectionChanged(seq=bisection.last_seq, bisection=view(bisection))]


def _probes(bisections: Iterable[Bisection]) -> dict[UUID, list[BisectionProbe]]:
    probes: dict[UUID, list[BisectionProbe]] = defaultdict(list)
    rows = BisectionProbe.objects.filter(bisection__in=bisections).select_related("session")
    for probe in rows.defer("session__plan", "session__planned").order_by("number"):
        probes[probe.bisection_id].append(probe)
    return probes


def _summary(bisection: Bisection, probes: list[BisectionProbe], result: BisectResult) -> BisectionSummary:
    costs = [probe.session.cost_usd for probe in probes]
    known_costs = [float(cost) for cost in costs if cost is not None]
    return BisectionSummary(
        id=bisection.id,
        run=bisection.run_id,
        run_name=bisection.run.name,
        diff=bisection.diff_id,
        status=bisection.status,
        headline=result.headline,
        sentence=result.sentence,
        forks=len(bisection.forks),
        probes=len(probes),
        live_calls=sum(probe.session.live_calls for probe in probes),
        cost_usd=sum(known_costs) if len(known_costs) == len(costs) else None,
        error=bisection.error,
        created_at=bisection.created_at,
        ended_at=bisection.ended_at,
    )


def _probe(probe: BisectionProbe, forks: list[ForkStep]) -> ProbeView:
    session, detail = probe.session, dict[str, Any](probe.detail)
    return ProbeView(
        number=probe.number,
        fork=forks[probe.place],
        changed=probe.changed,
        sample=probe.sample,
        verdict=probe.verdict or ProbeVerdict.RUNNING,
        checks=[CheckResult.model_validate(c) for c in detail.get("checks", [])],
        answer=detail.get("answer", ""),
        assumed=detail.get("assumed", 0),
        note=detail.get("note", ""),
        session=session.id,
        status=session.status,
        run=session.run_id,
        diff=session.diff_id,
        live_calls=session.live_calls,
        cost_usd=None if session.cost_usd is None else float(session.cost_usd),
    )
