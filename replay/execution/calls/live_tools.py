"""Live tool calls of a session.

A call that may have run already is never repeated, unless it is idempotent.
"""

import time
from typing import Any, Final, Protocol
from uuid import UUID

from django.db import transaction

from replay.core.calls import Answer, Call, OperatorAnswer
from replay.core.vocabulary import AttemptStatus, SessionStatus
from replay.execution import event_log
from replay.execution.calls.attempts import INTERRUPTION, AttemptJournal, Watch
from replay.live import outages, timeouts, tools
from replay.models import Attempt, ReplaySession, wait_until_now
from replay.resolution.operator_outputs import answer_from_operator
from traces.core.vocabulary import Label, Reason, StepStatus
from traces.transitions import move

_UNKNOWN: Final = "unknown_outcome"


class Operator(Protocol):
    """Operator of the session."""

    def ask(self, call: Call, reason: str, may_run: bool = False) -> OperatorAnswer | None:
        """Return the operator's answer.

        None means that the policy's fallback applies. Raises `OperatorWait` if there is no answer yet.
        """


def answer(journal: AttemptJournal, operator: Operator, tool: tools.Tool, call: Call) -> Answer | None:
    """Make one call, with retries; None if the operator chose the policy's fallback."""
    if tool.entry.idempotent:
        journal.abandon(journal.attempts_for(call))
    attempts = journal.attempts_for(call)
    for attempt in attempts:
        if attempt.status == AttemptStatus.SUCCEEDED:
            return _stored_answer(attempt)
    if any(_has_unknown_outcome(attempt) for attempt in attempts):
        return _ask(journal, operator, call, attempts)
    if journal.policy.tools.asks(call.callee) and not (approval := _request_approval(operator, call, tool)).run:
        return answer_from_operator(approval)
    return _run(journal, operator, tool, call, attempts)


def _request_approval(operator: Operator, call: Call, tool: tools.Tool) -> OperatorAnswer:
    """Ask the operator to approve a call before it is made."""
    reason = f"which would run live ({tool.place}): let it run, or enter its output"
    return operator.ask(call, reason, may_run=True) or OperatorAnswer(fallback=True)


def _run(
    journal: AttemptJournal, operator: Operator, tool: tools.Tool, call: Call, attempts: list[Attempt]
) -> Answer | None:
    number, failures = journal.resume(call, attempts, Reason.LIVE_TOOL)
    while True:
        attempt = journal.intend(call, tool.place, number, kind="tool")
        started_at, watch = time.monotonic(), Watch(journal, repeatable=tool.entry.idempotent)
        tool_call = tools.ToolCall(arguments=call.input, replay=str(journal.row.id), is_cancelled=watch.cancelled)
        try:
            result = tools.run(tool, tool_call)
        except timeouts.GivenUp as given_up:
            journal.abort(attempt, given_up, code=INTERRUPTION if tool.entry.idempotent else _UNKNOWN)
        except tools.ToolFailure as error:
            failures += 1
            if error.may_have_run and not tool.entry.idempotent:
                error.code = _UNKNOWN
                journal.fail(attempt, error, None)
                return _ask(journal, operator, call, [*attempts, attempt])
            journal.retry_after(call, attempt, error, failures, Reason.LIVE_TOOL)
            number += 1
        else:
            return _store_success(journal, attempt, result, (time.monotonic() - started_at) * 1000)


def _store_success(journal: AttemptJournal, attempt: Attempt, result: tools.ToolResult, duration_ms: float) -> Answer:
    """Store the outcome, so that the call is never repeated.

    If another worker has taken the session over meanwhile, the outcome also answers its question to the operator.
    """
    outcome = {"output": result.output, "status": result.status}

    def write() -> None:
        with transaction.atomic():
            if journal.conclude(attempt, AttemptStatus.SUCCEEDED, outcome=outcome, duration_ms=duration_ms):
                _withdraw_question(journal.row.id, attempt.sequence_no)

    outages.retry_through_outage(write)
    return _stored_answer(attempt)


def _withdraw_question(session_id: UUID, step: int) -> None:
    pending_question = ReplaySession.objects.filter(id=session_id, question__sequence_no=step)
    columns = {"question": None, "current": "", "operator_wait": wait_until_now()}
    if move(pending_question, SessionStatus.AWAITING_OPERATOR, SessionStatus.PENDING, **columns):
        event_log.append(session_id, "session")


def _stored_answer(attempt: Attempt) -> Answer:
    """Return the stored answer of a successful attempt."""
    outcome: dict[str, Any] = attempt.outcome or {}
    return Answer(
        action="live",
        label=Label.SIMULATED,
        reason=Reason.LIVE_TOOL,
        output=outcome["output"],
        status=StepStatus(outcome["status"]),
        detail={"executor": attempt.provider},
        duration_ms=attempt.duration_ms,
        retries=attempt.attempt - 1,
    )


def _has_unknown_outcome(attempt: Attempt) -> bool:
    """True if the outcome of a call is unknown: a crash interrupted it, or its answer was lost."""
    return attempt.status == AttemptStatus.INTENDED or attempt.error_code == _UNKNOWN


def _ask(journal: AttemptJournal, operator: Operator, call: Call, attempts: list[Attempt]) -> Answer | None:
    """Ask the operator for the outcome of a call that must not be repeated."""
    last = attempts[-1]
    error_text = last.error or "the worker died before the answer arrived"
    operator_answer = operator.ask(
        call, f"which may have run already ({error_text}) and is not idempotent: what did it return?"
    )
    if operator_answer is None:
        return None
    for attempt in attempts:
        if attempt.status == AttemptStatus.INTENDED:
            journal.interrupt(attempt)
    return answer_from_operator(operator_answer)
