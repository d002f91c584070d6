"""Final status of a session and of its derived run."""

from collections.abc import Mapping
from uuid import UUID

from replay.core.vocabulary import SessionStatus
from replay.execution.derived_run.container_status import FAILED, is_unverified
from replay.models import ReplaySession
from traces.core.vocabulary import Label, RunStatus, StepType
from traces.models import Step


def session_status(session: ReplaySession, counts: Mapping[Label, int]) -> SessionStatus:
    """Exact if every step is, simulated if no step from the fork on is exact or cached, or else mixed."""
    if not counts[Label.CACHED] and not counts[Label.SIMULATED]:
        return SessionStatus.COMPLETED_EXACT
    from_fork = Step.objects.filter(run=session.run, sequence_no__gte=session.fork_sequence_no)
    has_recorded_steps = from_fork.filter(label__in=(Label.EXACT, Label.CACHED)).exists()
    return SessionStatus.COMPLETED_MIXED if has_recorded_steps else SessionStatus.COMPLETED_SIMULATED


def run_status(session: ReplaySession, *, has_changes: bool, end_kept: bool) -> RunStatus:
    """Status of the derived run: failed if its last step failed. A check that did not run decides nothing.

    An unchanged run has its source's status. So does a run that reuses the source's last step, if no step of the
    source failed.
    """
    source = session.source_run
    if _ends_failing(session):
        return RunStatus.FAILED
    as_source = not has_changes or (end_kept and not _has_failures(source.id))
    return RunStatus.FAILED if as_source and source.status == RunStatus.FAILED else RunStatus.COMPLETED


def _ends_failing(session: ReplaySession) -> bool:
    """True if the last top-level step failed; output steps do not count, they repeat a result."""
    outermost = Step.objects.filter(run=session.run, parent_no__isnull=True).exclude(type=StepType.OUTPUT)
    last = outermost.order_by("-sequence_no").first()
    return last is not None and last.status in FAILED and not is_unverified(last)


def _has_failures(run_id: UUID) -> bool:
    return Step.objects.filter(run_id=run_id, status__in=FAILED).exists()
