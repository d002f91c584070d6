"""Live tool calls of a session: intent before, outcome after, retries; what may have run already is never run again."""

import time
from typing import Any, Final
from uuid import UUID

from django.db import transaction

from replay import deadlines, log, outages, tools
from replay.livecalls import INTERRUPTED, LiveCalls, Watch
from replay.models import Attempt, ReplaySession
from replay.resolvers import operator_said
from replay.world import Answer, Call, OperatorAnswer
from traces.vocabulary import Label, Reason, StepStatus

_UNKNOWN: Final = "unknown_outcome"


def answer(calls: LiveCalls, tool: tools.Tool, call: Call) -> Answer | None:
    """One call with its retries. None: the operator leaves it to the policy, when asked before or what came of it."""
    if tool.entry.idempotent:
        calls.abandon(calls.attempts(call))
    attempts = calls.attempts(call)
    for attempt in attempts:
        if attempt.status == "succeeded":
            return _restored(attempt)
    if any(_is_open(attempt) for attempt in attempts):
        return _ask(calls, call, attempts)
    if calls.policy.tools.asks(call.called) and not (said := _before(calls, call, tool)).run:
        return operator_said(said)
    return _run(calls, tool, call, attempts)


def _before(calls: LiveCalls, call: Call, tool: tools.Tool) -> OperatorAnswer:
    """What the operator says of a call that is about to be made."""
    why = f"which would run for real ({tool.place}): let it run, or say what it returns"
    said = calls.execution.ask(call, why, may_run=True)
    return said or OperatorAnswer(fallback=True)


def _run(calls: LiveCalls, tool: tools.Tool, call: Call, attempts: list[Attempt]) -> Answer | None:
    number, failures = calls.resume(call, attempts, Reason.LIVE_TOOL)
    while True:
        calls._afford(call, first=number == 1)
        attempt = calls._intend(call, tool.place, number, kind="tool")
        started, watch = time.monotonic(), Watch(calls, again=tool.entry.idempotent)
        asked = tools.ToolCall(arguments=call.input, replay=str(calls.session.id), stopped=watch.cancelled)
        try:
            found = tools.run(tool, asked)
        except deadlines.GivenUp as given_up:
            calls.stopped(attempt, given_up, code=INTERRUPTED if tool.entry.idempotent else _UNKNOWN)
        except tools.ToolFailed as error:
            failures += 1
            if error.may_have_run and not tool.entry.idempotent:
                _leave_open(calls, attempt, error)
                return _ask(calls, call, [*attempts, attempt])
            wait = calls._wait_for(error, failures)
            calls._failed(attempt, error, wait)
            if wait is None:
                calls._give_up(call, error, failures, Reason.LIVE_TOOL)
            calls._sleep(wait, call)
            number += 1
        else:
            return _succeeded(calls, attempt, found, (time.monotonic() - started) * 1000)


def _succeeded(calls: LiveCalls, attempt: Attempt, found: tools.ToolResult, duration_ms: float) -> Answer:
    """Store the outcome, so that the call is never made again.

    Also when another worker has taken the session over meanwhile: then this answers what the operator is asked.
    """
    outcome = {"output": found.output, "status": found.status}

    def write() -> None:
        with transaction.atomic():
            if calls.conclude(attempt, status="succeeded", outcome=outcome, duration_ms=duration_ms):
                _withdraw_question(calls.session.id, attempt.sequence_no)

    outages.patiently(write)
    return _restored(attempt)


def _withdraw_question(session_id: UUID, step: int) -> None:
    asked = ReplaySession.objects.filter(id=session_id, status="awaiting_operator", question__sequence_no=step)
    if asked.update(status="pending", question=None, current=""):
        log.say(session_id, "session")


def _restored(attempt: Attempt) -> Answer:
    """The answer that a successful attempt stored."""
    outcome: dict[str, Any] = attempt.outcome or {}
    return Answer(
        action="live", label=Label.SIMULATED, reason=Reason.LIVE_TOOL, output=outcome["output"],
        status=StepStatus(outcome["status"]), detail={"executor": attempt.provider}, duration_ms=attempt.duration_ms,
        retries=attempt.attempt - 1,
    )  # fmt: skip


def _is_open(attempt: Attempt) -> bool:
    """Whether nobody knows what a call did: a crash cut it off, or its answer was lost."""
    return attempt.status == "intended" or attempt.error_code == _UNKNOWN


def _leave_open(calls: LiveCalls, attempt: Attempt, error: tools.ToolFailed) -> None:
    error.code = _UNKNOWN
    calls._failed(attempt, error, None)


def _ask(calls: LiveCalls, call: Call, attempts: list[Attempt]) -> Answer | None:
    """Only the operator can find out what the call did; it is not made again."""
    last = attempts[-1]
    lost = last.error or "the worker ended before its answer came"
    said = calls.execution.ask(call, f"which may have run already ({lost}) and is not idempotent: what did it return?")
    if said is None:
        return None
    for attempt in attempts:
        if attempt.status == "intended":
            calls._interrupted(attempt)
    return operator_said(said)
