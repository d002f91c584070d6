"""Read the activity list.

Ids are ordered by time, so a page is merged from the newest rows of each kind, which the primary keys provide.
The number of queries does not depend on the length of the page.
"""

from collections.abc import Callable, Mapping, Sequence
from heapq import merge
from itertools import islice
from typing import Final, get_args
from uuid import UUID

from diffing import queries as diffs
from diffing.schemas.report import DiffSummary
from replay.activity.schemas import Activity, ActivityList, Kind, Progress, State
from replay.bisection import queries as bisections
from replay.bisection.core.schemas import BisectionSummary
from replay.calibration import queries as calibrations
from replay.core.vocabulary import COMPLETED, FAILED, OPEN_STATUSES, ExperimentStatus, SessionStatus
from replay.experiments import queries as experiments
from replay.experiments.core.schemas import ExperimentSummary
from replay.models import Calibration, Proof, ReplaySession
from replay.proofs import queries as proofs
from replay.sessions import queries as sessions

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)


def page(kinds: Sequence[Kind], *, cursor: UUID | None, limit: int) -> ActivityList:
    """Return the newest entries of these kinds whose id is below the cursor."""
    lists = (_READERS[kind](cursor, limit + 1) for kind in kinds)
    entries = list(islice(merge(*lists, key=lambda entry: entry.id, reverse=True), limit + 1))
    more = len(entries) > limit
    return ActivityList(activities=entries[:limit], next=entries[limit - 1].id if more else None)


def _replays(cursor: UUID | None, limit: int) -> list[Activity]:
    return [_replay(session) for session in sessions.newest_rows(cursor=cursor, limit=limit)]


def _replay(session: ReplaySession) -> Activity:
    running = session.status in OPEN_STATUSES
    return Activity(
        kind="replay",
        id=session.id,
        state=_session_state(session.status),
        run=session.source_run_id,
        run_name=session.source_run.name,
        candidate_name="",
        fork_sequence_no=session.fork_sequence_no,
        subject=sessions.change_of(session).text,
        finding=session.error,
        base_outcome=session.source_run.verdict.outcome,
        outcome=session.run.verdict.outcome if session.run and session.ended_at else None,
        confidence=None,
        progress=Progress(finished=session.resolved_steps, total=session.planned_steps) if running else None,
        diff=session.diff_id,
        created_at=session.created_at,
    )


def _session_state(status: str) -> State:
    if status == SessionStatus.AWAITING_OPERATOR:
        return "waiting"
    if status in COMPLETED:
        return "completed"
    if status in FAILED:
        return "failed"
    return "cancelled" if status == SessionStatus.CANCELLED else "running"


def _diffs(cursor: UUID | None, limit: int) -> list[Activity]:
    return [_diff(summary) for summary in diffs.latest(cursor=cursor, limit=limit)]


def _diff(summary: DiffSummary) -> Activity:
    return Activity(
        kind="diff",
        id=summary.id,
        state="completed",
        run=summary.base.id,
        run_name=summary.base.name,
        candidate_name=summary.candidate.name,
        fork_sequence_no=summary.candidate.fork_sequence_no,
        subject="",
        finding=summary.sentence,
        base_outcome=summary.outcomes.base.outcome,
        outcome=summary.outcomes.candidate.outcome,
        confidence=summary.confidence,
        progress=None,
        diff=summary.id,
        created_at=summary.created_at,
    )


def _proofs(cursor: UUID | None, limit: int) -> list[Activity]:
    rows = proofs.newest_rows(cursor=cursor, limit=limit)
    conclusions = diffs.conclusions([row.evidence_id for row in rows if row.evidence_id])
    return [_proof(row, conclusions) for row in rows]


def _proof(row: Proof, conclusions: Mapping[UUID, diffs.Conclusion]) -> Activity:
    base, candidate = row.diff.base, row.diff.candidate
    conclusion = conclusions.get(row.evidence_id) if row.evidence_id else None
    return Activity(
        kind="proof",
        id=row.id,
        state=_STATES[row.status],
        run=base.id,
        run_name=base.name,
        candidate_name=candidate.name,
        fork_sequence_no=candidate.fork_sequence_no,
        subject="",
        finding=conclusion.sentence if conclusion else row.error,
        base_outcome=base.verdict.outcome,
        outcome=candidate.verdict.outcome,
        confidence=conclusion.confidence if conclusion else None,
        progress=None,
        diff=row.diff_id,
        created_at=row.created_at,
    )


def _experiments(cursor: UUID | None, limit: int) -> list[Activity]:
    return [_experiment(summary) for summary in experiments.newest(cursor=cursor, limit=limit).experiments]


def _experiment(summary: ExperimentSummary) -> Activity:
    running = summary.status == ExperimentStatus.RUNNING
    return Activity(
        kind="experiment",
        id=summary.id,
        state=_STATES[summary.status],
        run=summary.source_run,
        run_name=summary.source_name,
        candidate_name="",
        fork_sequence_no=summary.fork_sequence_no,
        subject="" if summary.name == summary.source_name else summary.name,
        finding=_replay_counts(summary),
        base_outcome=None,
        outcome=None,
        confidence=None,
        progress=Progress(finished=summary.finished, total=summary.rows) if running else None,
        diff=None,
        created_at=summary.created_at,
    )


def _replay_counts(summary: ExperimentSummary) -> str:
    combinations = "1 combination" if summary.cells == 1 else f"{summary.cells} combinations"
    failures = f", {summary.failed} failed" if summary.failed else ""
    return f"{combinations}, {summary.finished} of {summary.rows} replays done{failures}"


def _bisections(cursor: UUID | None, limit: int) -> list[Activity]:
    return [_bisection(summary) for summary in bisections.newest(cursor=cursor, limit=limit).bisections]


def _bisection(summary: BisectionSummary) -> Activity:
    return Activity(
        kind="bisection",
        id=summary.id,
        state=_STATES[summary.status],
        run=summary.run,
        run_name=summary.run_name,
        candidate_name="",
        fork_sequence_no=None,
        subject="",
        finding=summary.error or summary.sentence,
        base_outcome=None,
        outcome=None,
        confidence=None,
        progress=None,
        diff=summary.diff,
        created_at=summary.created_at,
    )


def _calibrations(cursor: UUID | None, limit: int) -> list[Activity]:
    return [_calibration(row) for row in calibrations.newest_rows(cursor=cursor, limit=limit)]


def _calibration(row: Calibration) -> Activity:
    return Activity(
        kind="calibration",
        id=row.id,
        state="completed",
        run=row.base_id,
        run_name=row.base.name,
        candidate_name=row.candidate.name,
        fork_sequence_no=None,
        subject="",
        finding="",
        base_outcome=None,
        outcome=None,
        confidence=None,
        progress=None,
        diff=None,
        created_at=row.created_at,
    )


_STATES: Final[Mapping[str, State]] = {
    "pending": "running",
    "running": "running",
    "completed": "completed",
    "cancelled": "cancelled",
    "failed": "failed",
}
_READERS: Final[Mapping[Kind, Callable[[UUID | None, int], list[Activity]]]] = {
    "replay": _replays,
    "diff": _diffs,
    "proof": _proofs,
    "experiment": _experiments,
    "bisection": _bisections,
    "calibration": _calibrations,
}
