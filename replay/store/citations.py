"""Replays and searches refer to runs: what cites a run, and what goes with it when it is deleted."""

from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from uuid import UUID

from django.db.models import Q

from diffing.models import DiffReport, Lane
from replay.core.vocabulary import OPEN_STATUSES, BisectionStatus, ExportStatus, ProofStatus
from replay.models import (
    AgentCalibration,
    Bisection,
    Calibration,
    Experiment,
    LangfuseExport,
    Proof,
    ReplaySession,
    Rerun,
    RunnerOutput,
    UnchangedReplay,
)
from traces.comments.services import remove_comments
from traces.core.vocabulary import ShareKind
from traces.retention.citations import Citation, Citer
from traces.sharing import links


class ReplayCiter(Citer):
    """Sessions, experiments, bisections, proofs, calibrations and exports."""

    def citations(self, run_ids: Collection[UUID]) -> Iterable[Citation]:
        experiments = Experiment.objects.filter(Q(source_run__in=run_ids) | Q(rows__session__run__in=run_ids))
        for id, name, source_id in experiments.distinct().values_list("id", "name", "source_run_id"):
            yield Citation(run_id=_one_of(source_id, run_ids), kind="experiment", id=id, name=name)
        for id, run_id in Bisection.objects.filter(run__in=run_ids).values_list("id", "run_id"):
            yield Citation(run_id=run_id, kind="bisection", id=id)
        for proof in Proof.objects.filter(_compares(run_ids)).select_related("diff"):
            yield Citation(run_id=_one_of(proof.diff.base_id, run_ids), kind="proof", id=proof.id)

    def in_progress(self, run_ids: Collection[UUID]) -> Iterable[Citation]:
        open_sessions = ReplaySession.objects.filter(status__in=OPEN_STATUSES)
        sessions = open_sessions.filter(Q(source_run__in=run_ids) | Q(run__in=run_ids))
        for id, source_id in sessions.values_list("id", "source_run_id"):
            yield Citation(run_id=_one_of(source_id, run_ids), kind="replay in progress", id=id)
        running = Bisection.objects.filter(run__in=run_ids, status=BisectionStatus.RUNNING)
        for id, run_id in running.values_list("id", "run_id"):
            yield Citation(run_id=run_id, kind="bisection in progress", id=id)
        proofs = Proof.objects.filter(_compares(run_ids), status=ProofStatus.RUNNING)
        for id, base_id in proofs.values_list("id", "diff__base_id"):
            yield Citation(run_id=_one_of(base_id, run_ids), kind="proof in progress", id=id)
        exports = LangfuseExport.objects.filter(
            run__in=run_ids, status__in=(ExportStatus.PENDING, ExportStatus.RUNNING)
        )
        for id, run_id in exports.values_list("id", "run_id"):
            yield Citation(run_id=run_id, kind="export in progress", id=id)

    def belongings(self, run_ids: Collection[UUID]) -> set[UUID]:
        """The reports that replays made of their own forks, unless somebody can open one by a link."""
        sessions = ReplaySession.objects.filter(run__in=run_ids, diff_id__isnull=False)
        reports = {id for id in sessions.values_list("diff_id", flat=True) if id is not None}
        return reports - links.shared_subjects(ShareKind.DIFF, reports)

    def stop_reading(self, run_ids: Collection[UUID]) -> None:
        """End the reruns: their agents get no further answers, and they become no forks."""
        Rerun.objects.filter(source_run__in=run_ids, ended_at=None).update(ended_at=datetime.now(UTC))

    def release(self, run_ids: Collection[UUID]) -> None:
        """Delete what was computed from these runs, and what sessions of remaining forks repeat of them."""
        reports = self.belongings(run_ids)
        links.end_links(reports)
        remove_comments(reports)
        Lane.objects.filter(unchanged__in=reports).delete()
        DiffReport.objects.filter(id__in=reports).delete()
        Proof.objects.filter(_compares(run_ids)).delete()
        UnchangedReplay.objects.filter(_compares(run_ids)).delete()
        experiments = Experiment.objects.filter(source_run__in=run_ids)
        links.end_links(list(experiments.values_list("id", flat=True)))
        experiments.delete()
        Bisection.objects.filter(run__in=run_ids).delete()
        AgentCalibration.objects.filter(run__in=run_ids).delete()
        Calibration.objects.filter(Q(base__in=run_ids) | Q(candidate__in=run_ids)).delete()
        LangfuseExport.objects.filter(run__in=run_ids).delete()
        Rerun.objects.filter(Q(source_run__in=run_ids) | Q(session__run__in=run_ids)).delete()
        RunnerOutput.objects.filter(session__source_run__in=run_ids).delete()
        sessions = ReplaySession.objects.filter(source_run__in=run_ids)
        for obsolete in (ReplaySession.objects.filter(run__in=run_ids), sessions.filter(run__isnull=True)):
            links.end_links(list(obsolete.values_list("id", flat=True)))
            obsolete.delete()
        sessions.update(change=None, divergences=[], unused_calls=[], question=None)

    def references(self, run_ids: Collection[UUID]) -> set[UUID]:
        return set(ReplaySession.objects.filter(source_run__in=run_ids).values_list("source_run_id", flat=True))


def _compares(run_ids: Collection[UUID]) -> Q:
    return Q(diff__base__in=run_ids) | Q(diff__candidate__in=run_ids)


def _one_of(run_id: UUID, run_ids: Collection[UUID]) -> UUID:
    """Return a run if it is one of these, else the first of these: the other end is the one that is deleted."""
    return run_id if run_id in run_ids else next(iter(run_ids))
