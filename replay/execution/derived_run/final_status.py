"""How a replay ended, and the run that came of it."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from replay.core.vocabulary import SessionStatus
from replay.models import ReplaySession
from traces.core.vocabulary import Label, RunStatus, StepStatus, StepType
from traces.models import Step

_FAILED: Final = frozenset({StepStatus.ERROR, StepStatus.TIMEOUT})


def session_status(session: ReplaySession, counts: Mapping[Label, int]) -> SessionStatus:
    """Exact where every step is, simulated where none from the fork on is exact or cached, else mixed."""
    if not counts[Label.CACHED] and not counts[Label.SIMULATED]:
        return SessionStatus.COMPLETED_EXACT
    from_fork = Step.objects.filter(run=session.run, sequence_no__gte=session.fork_sequence_no)
    held = from_fork.filter(label__in=(Label.EXACT, Label.CACHED)).exists()
    return SessionStatus.COMPLETED_MIXED if held else SessionStatus.COMPLETED_SIMULATED


def run_status(session: ReplaySession, *, touched: bool, end_kept: bool) -> RunStatus:
    """A derived run fails where it ends so; an exact one, or one whose source failed in no step, as its source.

    `touched`: something is not as recorded; `end_kept`: its last step is.
    """
    source = session.source_run
    if _ends_failing(session):
        return RunStatus.FAILED
    as_source = not touched or (end_kept and not _has_failures(source.id))
    return RunStatus.FAILED if as_source and source.status == RunStatus.FAILED else RunStatus.COMPLETED


def _ends_failing(session: ReplaySession) -> bool:
    """Whether the last outermost step failed; the output after it only repeats what there was."""
    outermost = Step.objects.filter(run=session.run, parent_no__isnull=True).exclude(type=StepType.OUTPUT)
    return outermost.order_by("-sequence_no").values_list("status", flat=True).first() in _FAILED


def _has_failures(run_id: UUID) -> bool:
    return Step.objects.filter(run_id=run_id, status__in=_FAILED).exists()
