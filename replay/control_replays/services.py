"""Control replays: replay a diff's base without the changes, to see the effect of replaying."""

from dataclasses import dataclass
from functools import partial
from uuid import UUID

from django.db import transaction

from diffing import queries as diffs
from diffing.models import DiffReport
from replay.control_replays.schemas import UnchangedRequest, UnchangedView
from replay.core.calls import LIVE_REASONS
from replay.core.errors import ReplayRefusal
from replay.core.vocabulary import COMPLETED, FINAL_STATUSES
from replay.execution import event_log, task_names
from replay.models import ReplaySession, UnchangedReplay
from replay.overrides.policy import Policy
from replay.sessions import create, prepare, queries
from replay.sessions.schemas import ReplayRequest
from traces import enqueue
from traces.models import Run, Step
from traces.runs import deleted_runs

_UNSUCCESSFUL = FINAL_STATUSES - COMPLETED


@dataclass(frozen=True, kw_only=True)
class _ControlRequest:
    request: ReplayRequest
    description: str


def view(diff_id: UUID, unchanged_request: UnchangedRequest | None = None) -> UnchangedView:
    """Return the plan and progress of a control replay; nothing starts."""
    report = diffs.find(diff_id)
    lane = _control_request(report.base, report.candidate, unchanged_request or UnchangedRequest())
    plan = prepare.prepare(lane.request, brief=True).plan
    existing = UnchangedReplay.objects.filter(diff=report).select_related("session").first()
    return UnchangedView(
        diff=report.id,
        how=existing.how if existing else lane.description,
        fork_sequence_no=plan.fork_sequence_no,
        live_calls=plan.live_calls,
        cost_usd=plan.cost_usd,
        refusals=plan.refusals,
        warnings=plan.warnings,
        session=queries.session_view(existing.session_id) if existing else None,
        attached=bool(existing and existing.attached),
    )


def start(diff_id: UUID, unchanged_request: UnchangedRequest, *, by: str = "") -> UnchangedView:
    """Start the control replay, or return the existing one unless it failed; raises `ReplayRefusal`."""
    report = diffs.find(diff_id)
    lane = _control_request(report.base, report.candidate, unchanged_request)
    if not _has_usable_replay(diff_id):
        preparation = prepare.prepare(lane.request, brief=True, verify=True)
        for refusal in preparation.plan.refusals:
            raise ReplayRefusal(refusal)
        with transaction.atomic():
            # First, as a deletion locks runs before their reports.
            deleted_runs.hold([preparation.run.id])
            DiffReport.objects.select_for_update().get(id=diff_id)
            if _has_usable_replay(diff_id):
                # Started concurrently.
                return view(diff_id, unchanged_request)
            session = create.create(preparation, by=by)
            UnchangedReplay.objects.update_or_create(
                diff=report, defaults={"session": session, "how": lane.description, "attached": False}
            )
            event_log.append(session.id, "session")
            transaction.on_commit(partial(enqueue.send, task_names.EXECUTE, session.id))
    return view(diff_id, unchanged_request)


def _has_usable_replay(diff_id: UUID) -> bool:
    """True if there is a control replay that is open or completed."""
    existing = UnchangedReplay.objects.filter(diff_id=diff_id).select_related("session").first()
    return existing is not None and existing.session.status not in _UNSUCCESSFUL


def _control_request(base: Run, candidate: Run, unchanged_request: UnchangedRequest) -> _ControlRequest:
    """Build the candidate's replay without its overrides.

    What the candidate called live is called live again, because only live answers can differ by chance.
    """
    fork = _fork(base, candidate)
    policy = unchanged_request.policy or _policy(candidate)
    start = "the start" if fork is None else f"step {fork}"
    kinds = " and ".join(_PLURALS[kind] for kind in policy.allow)
    description = (
        f"From {start} on, {kinds} were called live again, without the changes."
        if policy.order == "reexecute"
        else f"The candidate made no live calls, so the recorded answers from {start} on were reused."
    )
    return _ControlRequest(
        request=ReplayRequest(run=str(base.id), fork_step=fork, policy=policy), description=description
    )


_PLURALS = {"model": "models", "tool": "tools", "retrieval": "retrievers"}


def _policy(candidate: Run) -> Policy:
    session = ReplaySession.objects.filter(run=candidate).first()
    # A recording: all of its calls were live.
    if session is None:
        return Policy(order="reexecute")
    policy = Policy.model_validate(session.policy)
    asked_live = Step.objects.filter(run=candidate, reason__in=LIVE_REASONS).exists()
    return policy.model_copy(update={"order": "reexecute"}) if asked_live else policy


def _fork(base: Run, candidate: Run) -> int | None:
    """Return the step from which the runs can differ: the fork of the candidate or of both."""
    if candidate.source_run_id == base.id:
        return candidate.fork_sequence_no
    if candidate.source_run_id is not None and candidate.source_run_id == base.source_run_id:
        return min(filter(None, (base.fork_sequence_no, candidate.fork_sequence_no)), default=None)
    return None
