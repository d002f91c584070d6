"""Live tool calls of a session: intent before, outcome after, retries; what may have run already is never run again."""

import time
from typing import Any, Final

from django.db import transaction

from replay import log, tools
from replay.livecalls import LiveCalls, _changed
from replay.models import Attempt
from replay.resolvers import operator_said
from replay.world import Answer, Call
from traces.vocabulary import Label, Reason, StepStatus

_UNKNOWN: Final = "unknown_outcome"


def answer(calls: LiveCalls, tool: tools.Tool, call: Call) -> Answer | None:
    """One call with its retries. None: the outcome is unknown, and the operator leaves it to the policy."""
    attempts = list(Attempt.objects.filter(session=calls.session, sequence_no=call.no).order_by("attempt"))
    for attempt in attempts:
        if attempt.status == "succeeded":
            return _restored(attempt)
    if not tool.entry.idempotent and any(_is_open(attempt) for attempt in attempts):
        return _ask(calls, call, attempts)
    calls._abandon(attempts)
    return _run(calls, tool, call, attempts)


def _run(calls: LiveCalls, tool: tools.Tool, call: Call, attempts: list[Attempt]) -> Answer | None:
    number = len(attempts) + 1
    failures = sum(attempt.error_code != "interrupted" for attempt in attempts)
    while True:
        calls._afford(call, first=number == 1)
        attempt = calls._intend(call, tool.place, number, kind="tool")
        started = time.monotonic()
        try:
            found = tools.run(tool, tools.ToolCall(arguments=call.input, replay=str(calls.session.id)))
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
    """Store the outcome, so that the call is never made again."""
    attempt.status, attempt.duration_ms = "succeeded", duration_ms
    attempt.outcome = {"output": found.output, "status": found.status}
    with transaction.atomic():
        attempt.save()
        log.say(calls.session.id, _changed(attempt))
    return _restored(attempt)


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
    calls._failed(attempt, error, None)
    Attempt.objects.filter(id=attempt.id).update(error_code=_UNKNOWN)


def _ask(calls: LiveCalls, call: Call, attempts: list[Attempt]) -> Answer | None:
    """Only the operator can find out what the call did; it is not made again."""
    last = attempts[-1]
    lost = last.error or "the worker ended before its answer came"
    said = calls.execution.ask(call, f"which may have run already ({lost}) and is not idempotent")
    if said is None:
        return None
    for attempt in attempts:
        if attempt.status == "intended":
            calls._interrupted(attempt)
    return operator_said(said)
