"""Live tool calls of a session: intent before, outcome after, retries; what may have run already is never run again."""

import time
from typing import Any, Final, Protocol
from uuid import UUID

from django.db import transaction

from replay.core.calls import Answer, Call, OperatorAnswer
from replay.core.vocabulary import AttemptStatus, SessionStatus
from replay.execution import event_log
from replay.execution.calls.attempts import INTERRUPTED, AttemptJournal, Watch
from replay.live import outages, timeouts, tools
from replay.models import Attempt, ReplaySession
from replay.resolution.operator_outputs import operator_said
from traces.core.vocabulary import Label, Reason, StepStatus
from traces.transitions import move

_UNKNOWN: Final = "unknown_outcome"


class Operator(Protocol):
    """Whoever watches the session."""

    def ask(self, call: Call, why: str, may_run: bool = False) -> OperatorAnswer | None:
        """What the operator answered; None: to go on by policy. Raises `OperatorWait` where nothing was said yet."""


def answer(journal: AttemptJournal, operator: Operator, tool: tools.Tool, call: Call) -> Answer | None:
    """One call with its retries. None: the operator leaves it to the policy, when asked before or what came of it."""
    if tool.entry.idempotent:
        journal.abandon(journal.of(call))
    attempts = journal.of(call)
    for attempt in attempts:
        if attempt.status == AttemptStatus.SUCCEEDED:
            return _restored(attempt)
    if any(_is_open(attempt) for attempt in attempts):
        return _ask(journal, operator, call, attempts)
    if journal.policy.tools.asks(call.callee) and not (said := _before(operator, call, tool)).run:
        return operator_said(said)
    return _run(journal, operator, tool, call, attempts)


def _before(operator: Operator, call: Call, tool: tools.Tool) -> OperatorAnswer:
    """What the operator says of a call that is about to be made."""
    why = f"which would run for real ({tool.place}): let it run, or say what it returns"
    return operator.ask(call, why, may_run=True) or OperatorAnswer(fallback=True)


def _run(
    journal: AttemptJournal, operator: Operator, tool: tools.Tool, call: Call, attempts: list[Attempt]
) -> Answer | None:
    number, failures = journal.resume(call, attempts, Reason.LIVE_TOOL)
    while True:
        attempt = journal.intend(call, tool.place, number, kind="tool")
        started, watch = time.monotonic(), Watch(journal, again=tool.entry.idempotent)
        asked = tools.ToolCall(arguments=call.input, replay=str(journal.row.id), is_cancelled=watch.cancelled)
        try:
            found = tools.run(tool, asked)
        except timeouts.GivenUp as given_up:
            journal.stopped(attempt, given_up, code=INTERRUPTED if tool.entry.idempotent else _UNKNOWN)
        except tools.ToolFailure as error:
            failures += 1
            if error.may_have_run and not tool.entry.idempotent:
                error.code = _UNKNOWN
                journal.fail(attempt, error, None)
                return _ask(journal, operator, call, [*attempts, attempt])
            journal.retry_after(call, attempt, error, failures, Reason.LIVE_TOOL)
            number += 1
        else:
            return _succeeded(journal, attempt, found, (time.monotonic() - started) * 1000)


def _succeeded(journal: AttemptJournal, attempt: Attempt, found: tools.ToolResult, duration_ms: float) -> Answer:
    """Store the outcome, so that the call is never made again.

    Also when another worker has taken the session over meanwhile: then this answers what the operator is asked.
    """
    outcome = {"output": found.output, "status": found.status}

    def write() -> None:
        with transaction.atomic():
            if journal.conclude(attempt, AttemptStatus.SUCCEEDED, outcome=outcome, duration_ms=duration_ms):
                _withdraw_question(journal.row.id, attempt.sequence_no)

    outages.retry_through_outage(write)
    return _restored(attempt)


def _withdraw_question(session_id: UUID, step: int) -> None:
    asked = ReplaySession.objects.filter(id=session_id, question__sequence_no=step)
    if move(asked, SessionStatus.AWAITING_OPERATOR, SessionStatus.PENDING, question=None, current=""):
        event_log.append(session_id, "session")


def _restored(attempt: Attempt) -> Answer:
    """The answer that a successful attempt stored."""
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


def _is_open(attempt: Attempt) -> bool:
    """Whether nobody knows what a call did: a crash cut it off, or its answer was lost."""
    return attempt.status == AttemptStatus.INTENDED or attempt.error_code == _UNKNOWN


def _ask(journal: AttemptJournal, operator: Operator, call: Call, attempts: list[Attempt]) -> Answer | None:
    """Only the operator can find out what the call did; it is not made again."""
    last = attempts[-1]
    lost = last.error or "the worker ended before its answer came"
    said = operator.ask(call, f"which may have run already ({lost}) and is not idempotent: what did it return?")
    if said is None:
        return None
    for attempt in attempts:
        if attempt.status == AttemptStatus.INTENDED:
            journal.interrupt(attempt)
    return operator_said(said)
