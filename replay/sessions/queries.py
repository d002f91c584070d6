"""Read replay sessions."""

from collections.abc import Iterable
from typing import Final
from uuid import UUID

from django.db.models import QuerySet

from replay.core.plan import Determinism
from replay.core.vocabulary import Engine
from replay.execution.calls.attempts import attempt_view
from replay.execution.messages import AttemptMessage, OperatorQuestion, OutputMessage, StepsMessage, TextMessage
from replay.live import providers
from replay.models import Attempt, ReplaySession, SessionMessage
from replay.overrides.fork_changes import fork_change, no_recorded_call
from replay.overrides.policy import Policy
from replay.overrides.profile import OverrideProfile
from replay.runners import queries as runners
from replay.sessions.schemas import (
    AttemptList,
    ProviderList,
    ProviderView,
    SessionList,
    SessionStateMessage,
    SessionView,
    Takeover,
)
from traces.captions.queries import NO_CAPTION, Captions, captions_of
from traces.core.schema import ForkChange, LabelCounts
from traces.http.paging import Page, cut
from traces.runs.queries import by_id

Message = SessionStateMessage | StepsMessage | TextMessage | AttemptMessage | OutputMessage
_MOST: Final = 500
_KINDS: Final[dict[str, type[StepsMessage] | type[TextMessage] | type[AttemptMessage] | type[OutputMessage]]] = {
    "steps": StepsMessage,
    "text": TextMessage,
    "attempt": AttemptMessage,
    "output": OutputMessage,
}


def find_session(ref: str | UUID) -> ReplaySession:
    """Find a session by id; raises `NotFound`."""
    return by_id(_sessions(), ref, "replay session")


def session_view(session_id: UUID) -> SessionView:
    """Return the current state of a session; raises `NotFound`."""
    return view_of(find_session(session_id))


def newest_sessions(*, source_run: UUID | None = None, limit: int = 50) -> SessionList:
    """List the newest sessions, of one source run or of all, without probes and without those of deleted forks."""
    sessions = _listed_sessions().order_by("-created_at", "-id")
    if source_run is not None:
        sessions = sessions.filter(source_run_id=source_run)
    rows = list(sessions[:limit])
    captions = _captions(rows)
    return SessionList(sessions=[view_of(session, captions) for session in rows])


def listed_rows() -> QuerySet[ReplaySession]:
    """Return the listed sessions with the outcomes of both runs."""
    return _listed_sessions().select_related("source_run__verdict").defer("planned", "plan", "answers")


def messages_after(session_id: UUID, after: int) -> list[Message]:
    """List messages with a sequence number above `after`, in order.

    Of several changes of the session itself only the last is included, since it contains the current state.
    """
    rows = list(SessionMessage.objects.filter(session_id=session_id, seq__gt=after).order_by("seq")[:_MOST])
    last = max((row.seq for row in rows if row.type == "session"), default=None)
    selection: Iterable[SessionMessage] = (row for row in rows if row.type != "session" or row.seq == last)
    return [_message(row) for row in selection]


def attempts(session_id: UUID, page: Page) -> AttemptList:
    """List attempts at live calls in the order in which they were made."""
    rows, rest = cut(Attempt.objects.filter(session_id=session_id), page)
    return AttemptList(attempts=[attempt_view(row) for row in rows], next=rest)


def configured_providers() -> ProviderList:
    """List the configured providers by name, without keys."""
    return ProviderList(
        providers=[
            ProviderView(
                name=provider.name,
                protocol=provider.protocol,
                base_url=provider.base_url,
                models=list(provider.models),
                local=provider.local,
                description=provider.description,
            )
            for _, provider in sorted(providers.configured_providers().items())
        ]
    )


def view_of(session: ReplaySession, captions: Captions | None = None) -> SessionView:
    """Return the state of a session; `captions` are those of the runs of a list."""
    captions = captions or _captions([session])
    source = captions[session.source_run_id]
    derived = captions[session.run_id] if session.run_id else None
    caption = derived.caption if derived else NO_CAPTION
    counts = LabelCounts(exact=session.exact_count, cached=session.cached_count, simulated=session.simulated_count)
    return SessionView(
        id=session.id,
        status=session.status,
        source_run=session.source_run_id,
        source_name=session.source_run.name,
        source_outcome=source.outcome,
        source_outcome_reason=source.outcome_reason,
        source_answer=source.caption.answer,
        change=change_of(session),
        title=caption.title,
        note=caption.note,
        answer=caption.answer if session.ended_at else "",
        run=session.run_id,
        outcome=session.run.verdict.outcome if session.run and session.ended_at else None,
        outcome_reason=derived.outcome_reason if derived and session.ended_at else "",
        diff=session.diff_id,
        fork_sequence_no=session.fork_sequence_no,
        overrides=OverrideProfile.model_validate(session.profile.profile),
        overrides_digest=session.profile_id,
        policy_digest=session.stated_policy_id or "",
        policy=Policy.model_validate(session.policy),
        counts=counts,
        planned_steps=session.planned_steps,
        resolved_steps=session.resolved_steps,
        current=session.current,
        cost_usd=None if session.cost_usd is None else float(session.cost_usd),
        live_calls=session.live_calls,
        engine=Engine(session.engine),
        runner=None if session.runner is None else session.runner.name,
        variables=session.variable_digests,
        exit_code=None if session.rerun is None else session.rerun.exit_code,
        replay_type=session.plan["replay_type"],
        determinism=Determinism.model_validate(session.plan["determinism"]),
        divergences=session.divergences,
        unused_calls=session.unused_calls,
        takeovers=[
            Takeover(at=at, kept_to=last_kept_step, taken_back=discarded_steps)
            for at, last_kept_step, discarded_steps in session.takeovers
        ],
        question=None if session.question is None else OperatorQuestion.model_validate(session.question),
        tools_to_allow=(
            runners.tools_to_allow(session.plan, session.held_back_tools) if session.held_back_tools else []
        ),
        error_code=session.error_code,
        error=session.error,
        error_sequence_no=session.error_sequence_no,
        created_at=session.created_at,
        started_at=session.started_at,
        ended_at=session.ended_at,
    )


def _captions(sessions: Iterable[ReplaySession]) -> Captions:
    runs = (run for session in sessions for run in (session.source_run, session.run) if run is not None)
    return captions_of(runs)


def change_of(session: ReplaySession) -> ForkChange:
    """Return what a session changes; of a session without a stored change, without the recorded values."""
    if session.change is not None:
        return ForkChange.model_validate(session.change)
    profile = OverrideProfile.model_validate(session.profile.profile)
    return fork_change(profile, Policy.model_validate(session.policy), no_recorded_call, str)


def _listed_sessions() -> QuerySet[ReplaySession]:
    # Large and not displayed.
    sessions = _sessions().defer("planned", "answers", "source_run__metadata", "run__metadata")
    return sessions.filter(is_probe=False, run__deletion__isnull=True)


def _sessions() -> QuerySet[ReplaySession]:
    return ReplaySession.objects.select_related("source_run", "profile", "run__verdict", "rerun", "runner")


def _message(row: SessionMessage) -> Message:
    if row.type == "session":
        return SessionStateMessage(seq=row.seq, session=session_view(row.session_id))
    return _KINDS[row.type].model_validate({**row.body, "seq": row.seq})
