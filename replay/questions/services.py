"""Ask the operator about a call of a running agent, and store the answer.

A question waits in a row of its own, so that it outlives the server. Where a session shows the agent, the session waits
with it: in `awaiting_operator`, with the oldest open question. Its runner stays the owner, since the agent still runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import Max, QuerySet
from django.db.models.functions import Now

from replay.core.errors import SessionConflict
from replay.core.vocabulary import SessionStatus
from replay.execution import event_log
from replay.execution.messages import OperatorQuestion
from replay.models import ReplaySession, Rerun, RerunQuestion, wait_until_now
from traces.core.json_types import JSONObject, JSONValue
from traces.transitions import move

# The action of an answer that the operator did not give in time.
EXPIRY: Final = "expiry"
_LONGEST_NOTE = 300


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentCall:
    """A call that an agent is about to make; `id` is chosen by the agent's process."""

    id: str
    name: str
    arguments: JSONValue


def find(rerun: Rerun, call_id: str) -> RerunQuestion | None:
    """Return the question about a call; raise `SessionConflict` if the agent was started again since."""
    question = rerun.questions.filter(call=call_id).order_by("attempt").last()
    if question is not None and question.attempt != rerun.attempt:
        raise SessionConflict(f"the agent of rerun {rerun.id} was started again")
    return question


def ask(rerun: Rerun, call: AgentCall, reason: str, *, may_run: bool) -> RerunQuestion:
    """Store a question about a call, answered if the operator answered the same call of an earlier start.

    A call that ran then may have had its effects: the operator can only say what it returned. The caller has a lock on
    the rerun.
    """
    earlier = _earlier_question(rerun, call)
    has_run = earlier is not None and _action(earlier) == "run"
    if has_run:
        may_run = False
        reason = f"which ran before the agent was started again: what did it return? The call is {reason}"
    question = RerunQuestion.objects.create(
        rerun=rerun,
        attempt=rerun.attempt,
        no=(rerun.questions.aggregate(last=Max("no"))["last"] or 0) + 1,
        call=call.id,
        name=call.name,
        arguments=call.arguments,
        text=f"The agent calls {call.name}, {reason}",
        may_run=may_run,
        answer=None if earlier is None or has_run else earlier.answer,
    )
    show(rerun)
    return question


def open_questions(rerun: Rerun) -> Sequence[OperatorQuestion]:
    """Return what waits for an answer, the oldest question first."""
    return [_view(question) for question in _open(rerun)]


def answer(rerun: Rerun, no: int, content: JSONObject) -> bool:
    """Store the answer to an open question, and let its session go on or ask the next one; False if it is not open."""
    with transaction.atomic():
        if not _open(rerun).filter(no=no).update(answer=content):
            return False
        show(rerun)
    return True


def expire(rerun: Rerun, question: RerunQuestion) -> None:
    """Close a question for which the agent waits no longer. The caller has a lock on the rerun."""
    question.answer = {"action": EXPIRY}
    question.save(update_fields=["answer"])
    show(rerun)


def withdraw(session_id: UUID) -> None:
    """Drop the questions of an agent that has ended, and let its session go on."""
    with transaction.atomic():
        for rerun in Rerun.objects.filter(session=session_id):
            if _open(rerun).delete()[0]:
                show(rerun)


def show(rerun: Rerun) -> None:
    """Let the agent's session wait with its oldest open question; without one, let it run again."""
    sessions = ReplaySession.objects.filter(rerun=rerun)
    session = sessions.first()
    if session is None:
        return
    question = next(iter(open_questions(rerun)), None)
    columns = {
        "question": None if question is None else question.model_dump(mode="json"),
        "current": "" if question is None else question.text[:_LONGEST_NOTE],
    }
    waiting = sessions.filter(status=SessionStatus.AWAITING_OPERATOR)
    if question is not None:
        move(sessions, SessionStatus.RUNNING, SessionStatus.AWAITING_OPERATOR, heartbeat_at=Now(), **columns)
        waiting.update(**columns)
    # If its runner is away, it goes on waiting for that.
    elif not waiting.filter(owner="").update(**columns) and move(
        waiting, SessionStatus.AWAITING_OPERATOR, SessionStatus.PENDING, operator_wait=wait_until_now(), **columns
    ):
        move(sessions, SessionStatus.PENDING, SessionStatus.RUNNING, heartbeat_at=Now())
    event_log.append(session.id, "session")


def _open(rerun: Rerun) -> QuerySet[RerunQuestion]:
    return rerun.questions.filter(attempt=rerun.attempt, answer__isnull=True).order_by("no")


def _view(question: RerunQuestion) -> OperatorQuestion:
    return OperatorQuestion(
        sequence_no=question.no,
        tool_name=question.name,
        arguments=question.arguments,
        text=question.text,
        may_run=question.may_run,
    )


def _earlier_question(rerun: Rerun, call: AgentCall) -> RerunQuestion | None:
    """Return the answered question about a call from the last start that had one: about its n-th time, the n-th."""
    same_calls = [
        item for item in rerun.questions.filter(name=call.name).order_by("no") if item.arguments == call.arguments
    ]
    place = sum(item.attempt == rerun.attempt for item in same_calls)
    for attempt in range(rerun.attempt - 1, 0, -1):
        candidates = [item for item in same_calls if item.attempt == attempt and _action(item) not in ("", EXPIRY)]
        if place < len(candidates):
            return candidates[place]
    return None


def _action(question: RerunQuestion) -> str:
    return str((question.answer or {}).get("action", ""))
