"""Entries of the activity list, from the rows of each kind."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from diffing import queries as diffs
from diffing.models import DiffReport
from diffing.schemas.report import DiffSummary
from replay.activity.schemas import Activity, Progress, State
from replay.bisection import queries as bisections
from replay.bisection.core.schemas import BisectionSummary
from replay.core.vocabulary import COMPLETED, FAILED, OPEN_STATUSES, ExperimentStatus, SessionStatus
from replay.experiments import queries as experiments
from replay.experiments.core.schemas import ExperimentSummary
from replay.models import Bisection, Calibration, Experiment, Proof, ReplaySession
from replay.proofs.queries import costs_of as proof_costs
from replay.sessions import queries as sessions
from traces.captions.queries import Captions, captions_of


def replays(rows: Sequence[ReplaySession]) -> list[Activity]:
    captions = captions_of(session.run for session in rows if session.run is not None)
    return [_replay(session, captions) for session in rows]


def _replay(session: ReplaySession, captions: Captions) -> Activity:
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
        finding=session.error or _new_answer(session, captions),
        base_outcome=session.source_run.verdict.outcome,
        outcome=session.run.verdict.outcome if session.run and session.ended_at else None,
        confidence=None,
        cost_usd=None if session.cost_usd is None else float(session.cost_usd),
        progress=_progress(session) if running else None,
        diff=session.diff_id,
        author=session.by,
        created_at=session.created_at,
    )


def _progress(session: ReplaySession) -> Progress:
    """A replay that left its recording may take more steps than planned."""
    finished = session.resolved_steps
    return Progress(finished=finished, total=max(finished, session.planned_steps))


def _new_answer(session: ReplaySession, captions: Captions) -> str:
    """The answer of the fork, in quotation marks, or that it is the answer of its source."""
    if session.run_id is None or session.ended_at is None:
        return ""
    answer = captions[session.run_id].caption.answer
    if answer and answer == captions[session.source_run_id].caption.answer:
        return "same answer"
    return f"“{answer}”" if answer else ""


def _session_state(status: str) -> State:
    if status == SessionStatus.AWAITING_OPERATOR:
        return "waiting"
    if status in COMPLETED:
        return "completed"
    if status in FAILED:
        return "failed"
    return "cancelled" if status == SessionStatus.CANCELLED else "running"


def reports(rows: Sequence[DiffReport]) -> list[Activity]:
    return [_diff(summary, row.by) for summary, row in zip(diffs.summaries(rows), rows, strict=True)]


def _diff(summary: DiffSummary, author: str) -> Activity:
    headline = summary.headline
    return Activity(
        kind="diff",
        id=summary.id,
        state="completed",
        run=summary.base.id,
        run_name=summary.base.name,
        candidate_name=summary.candidate.name,
        fork_sequence_no=summary.candidate.fork_sequence_no,
        subject=_fork_change(summary) or (headline.cause if headline else ""),
        finding=headline.effect if headline else summary.sentence,
        base_outcome=summary.outcomes.base.outcome,
        outcome=summary.outcomes.candidate.outcome,
        confidence=summary.confidence,
        cost_usd=None,
        progress=None,
        diff=summary.id,
        author=author,
        created_at=summary.created_at,
    )


def _fork_change(summary: DiffSummary) -> str:
    """What the candidate changes of the base; empty if it is not a fork of it."""
    change = summary.captions.candidate.change
    return change.text if change and summary.candidate.source_run == summary.base.id else ""


def proofs(rows: Sequence[Proof]) -> list[Activity]:
    conclusions = diffs.conclusions([row.evidence_id for row in rows if row.evidence_id])
    captions = captions_of(row.diff.candidate for row in rows)
    costs = proof_costs([row.id for row in rows])
    return [_proof(row, conclusions, captions, costs[row.id]) for row in rows]


def _proof(
    row: Proof, conclusions: Mapping[UUID, diffs.Conclusion], captions: Captions, cost: float | None
) -> Activity:
    base, candidate = row.diff.base, row.diff.candidate
    conclusion = conclusions.get(row.evidence_id) if row.evidence_id else None
    change = captions[candidate.id].caption.change if candidate.source_run_id == base.id else None
    return Activity(
        kind="proof",
        id=row.id,
        state=_STATES[row.status],
        run=base.id,
        run_name=base.name,
        candidate_name=candidate.name,
        fork_sequence_no=candidate.fork_sequence_no,
        subject=change.text if change else _proven_cause(conclusion),
        finding=_proven_effect(conclusion) if conclusion else row.error,
        base_outcome=base.verdict.outcome,
        outcome=candidate.verdict.outcome,
        confidence=conclusion.confidence if conclusion else None,
        cost_usd=cost,
        progress=None,
        diff=row.diff_id,
        author=row.by,
        created_at=row.created_at,
    )


def _proven_cause(conclusion: diffs.Conclusion | None) -> str:
    return conclusion.headline.cause if conclusion and conclusion.headline else ""


def _proven_effect(conclusion: diffs.Conclusion) -> str:
    """The effect of the change, as in the headline; the whole conclusion if the proof does not decide the verdict."""
    return conclusion.headline.effect if conclusion.headline else conclusion.sentence


def matrices(rows: Sequence[Experiment]) -> list[Activity]:
    return [_experiment(summary, row.by) for summary, row in zip(experiments.summaries(rows), rows, strict=True)]


def _experiment(summary: ExperimentSummary, author: str) -> Activity:
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
        cost_usd=summary.cost_usd,
        progress=Progress(finished=summary.finished, total=summary.rows) if running else None,
        diff=None,
        author=author,
        created_at=summary.created_at,
    )


def _replay_counts(summary: ExperimentSummary) -> str:
    combinations = "1 combination" if summary.cells == 1 else f"{summary.cells} combinations"
    failures = f", {summary.failed} failed" if summary.failed else ""
    return f"{combinations}, {summary.finished} of {summary.rows} replays done{failures}"


def searches(rows: Sequence[Bisection]) -> list[Activity]:
    return [_bisection(summary, row.by) for summary, row in zip(bisections.summaries(rows), rows, strict=True)]


def _bisection(summary: BisectionSummary, author: str) -> Activity:
    return Activity(
        kind="bisection",
        id=summary.id,
        state=_STATES[summary.status],
        run=summary.run,
        run_name=summary.run_name,
        candidate_name="",
        fork_sequence_no=None,
        subject="",
        finding=summary.error or summary.headline,
        base_outcome=None,
        outcome=None,
        confidence=None,
        cost_usd=summary.cost_usd,
        progress=None,
        diff=summary.diff,
        author=author,
        created_at=summary.created_at,
    )


def calibrations(rows: Sequence[Calibration]) -> list[Activity]:
    return [_calibration(row) for row in rows]


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
        cost_usd=None,
        progress=None,
        diff=None,
        author=row.by,
        created_at=row.created_at,
    )


_STATES: Final[Mapping[str, State]] = {
    "pending": "running",
    "running": "running",
    "completed": "completed",
    "cancelled": "cancelled",
    "failed": "failed",
}
