"""Replaying the base of a diff without the candidate's changes, so that replaying itself is not blamed on them."""

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

_ENDED_BADLY = FINAL_STATUSES - COMPLETED


@dataclass(frozen=True, kw_only=True)
class _Asked:
    request: ReplayRequest
    how: str


def view(diff_id: UUID, asked: UnchangedRequest | None = None) -> UnchangedView:
    """What it would take, and how far it is; nothing starts."""
    report = diffs.find(diff_id)
    lane = _asked(report.base, report.candidate, asked or UnchangedRequest())
    plan = prepare.prepare(lane.request, brief=True).plan
    known = UnchangedReplay.objects.filter(diff=report).select_related("session").first()
    return UnchangedView(
        diff=report.id,
        how=known.how if known else lane.how,
        fork_sequence_no=plan.fork_sequence_no,
        live_calls=plan.live_calls,
        cost_usd=plan.cost_usd,
        refusals=plan.refusals,
        warnings=plan.warnings,
        session=queries.session_view(known.session_id) if known else None,
        attached=bool(known and known.attached),
    )


def start(diff_id: UUID, asked: UnchangedRequest) -> UnchangedView:
    """Start the unchanged replay, or find it; one that ended badly is tried again. Raises `ReplayRefusal`."""
    report = diffs.find(diff_id)
    lane = _asked(report.base, report.candidate, asked)
    if not _lasting(diff_id):
        prepared = prepare.prepare(lane.request, brief=True)
        for refusal in prepared.plan.refusals:
            raise ReplayRefusal(refusal)
        with transaction.atomic():
            DiffReport.objects.select_for_update().get(id=diff_id)
            if _lasting(diff_id):
                return view(diff_id, asked)  # somebody else has started it meanwhile
            session = create.create(prepared)
            UnchangedReplay.objects.update_or_create(
                diff=report, defaults={"session": session, "how": lane.how, "attached": False}
            )
            event_log.append(session.id, "session")
            transaction.on_commit(partial(enqueue.send, task_names.EXECUTE, session.id))
    return view(diff_id, asked)


def _lasting(diff_id: UUID) -> bool:
    """Whether there is one that runs or has come to a good end."""
    known = UnchangedReplay.objects.filter(diff_id=diff_id).select_related("session").first()
    return known is not None and known.session.status not in _ENDED_BADLY


def _asked(base: Run, candidate: Run, asked: UnchangedRequest) -> _Asked:
    """The candidate's replay without its overrides; what it asked live is asked live again, because that is what
    can come out otherwise by itself."""
    fork = _fork(base, candidate)
    policy = asked.policy or _policy(candidate)
    since = "the start" if fork is None else f"step {fork}"
    again = " and ".join(_PLURALS[kind] for kind in policy.allow)
    how = (
        f"Every answer of {again} from {since} on was asked for again, without the changes."
        if policy.order == "reexecute"
        else f"The candidate asked nobody, so the recorded answers from {since} on were used again."
    )
    return _Asked(request=ReplayRequest(run=str(base.id), fork_step=fork, policy=policy), how=how)


_PLURALS = {"model": "models", "tool": "tools", "retrieval": "retrievers"}


def _policy(candidate: Run) -> Policy:
    session = ReplaySession.objects.filter(run=candidate).first()
    if session is None:  # it was recorded, not replayed: all of it was live
        return Policy(order="reexecute")
    policy = Policy.model_validate(session.policy)
    asked_live = Step.objects.filter(run=candidate, reason__in=LIVE_REASONS).exists()
    return policy.model_copy(update={"order": "reexecute"}) if asked_live else policy


def _fork(base: Run, candidate: Run) -> int | None:
    """From where on the two can differ: where the candidate forked from the base, or both from one source."""
    if candidate.source_run_id == base.id:
        return candidate.fork_sequence_no
    if candidate.source_run_id is not None and candidate.source_run_id == base.source_run_id:
        return min(filter(None, (base.fork_sequence_no, candidate.fork_sequence_no)), default=None)
    return None
