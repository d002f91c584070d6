"""The attempts at live calls of a session: intent before, outcome after, retries and budget."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final, NoReturn

from django.db import transaction

from replay.core.calls import Answer, Call, label_key
from replay.core.errors import CancelRequest, LostOwnership, ReplayFailure
from replay.core.hooks import Hooks
from replay.core.vocabulary import AttemptStatus
from replay.execution import observers
from replay.execution.messages import AttemptMessage, AttemptView
from replay.execution.session_row import SessionRow
from replay.live import outages, shutdown
from replay.live.providers.types import ProviderError
from replay.models import Attempt
from replay.overrides.policy import Policy, Retries
from traces.core.json_types import JSONObject
from traces.core.vocabulary import Label, Reason, StepStatus
from traces.transitions import move

_LOOK_S: Final = 0.2  # how often a running or waiting call looks whether it should stop
_LONGEST_WAIT_S: Final = 900.0  # that `Retry-After` may ask for: a worker waits no longer for one call
INTERRUPTED: Final = "interrupted"


class CallFailure(Exception):
    """A live call that is given up: `answer` is what the step says of it, `stopped` how the replay ends."""

    def __init__(self, answer: Answer, stopped: ReplayFailure) -> None:
        super().__init__(str(stopped))
        self.answer = answer
        self.stopped = stopped


class AttemptJournal:
    """What goes out for one session, and what came of it."""

    def __init__(self, row: SessionRow, policy: Policy, hooks: Hooks) -> None:
        self.row = row
        self.policy = policy
        self._hooks = hooks
        self._spent = row.session.cost_usd
        self._calls = row.session.live_calls
        started = row.session.started_at or datetime.now(UTC)
        limit = policy.budget.deadline_s
        self._deadline = None if limit is None else started + timedelta(seconds=limit)

    def repeat(
        self,
        call: Call,
        place: str,
        ask: Callable[[Attempt], Answer],
        *,
        restored: Callable[[Attempt], Answer],
        kind: str,
        reason: Reason,
    ) -> Answer:
        """A call that does no harm when it is made twice, with its retries.

        One that succeeded before a crash is not made again.
        """
        self.abandon(self.of(call))
        attempts = self.of(call)
        for attempt in attempts:
            if attempt.status == AttemptStatus.SUCCEEDED:
                return restored(attempt)
        number, failures = self.resume(call, attempts, reason)
        while True:
            attempt = self.intend(call, place, number, kind=kind)
            try:
                return ask(attempt)
            except ProviderError as error:
                failures += 1
                self.retry_after(call, attempt, error, failures, reason)
                number += 1

    def of(self, call: Call) -> list[Attempt]:
        """The attempts at a call, in order."""
        return list(Attempt.objects.filter(session=self.row.session, sequence_no=call.no).order_by("attempt"))

    def resume(self, call: Call, attempts: list[Attempt], reason: Reason) -> tuple[int, int]:
        """The number of the next attempt, and how many failed, once it may go out.

        Another worker may have died while it waited for this, or just before it gave up.
        """
        # Attempts that a crash cut off do not count against the policy: nobody knows their outcome.
        failed = [attempt for attempt in attempts if attempt.error_code != INTERRUPTED]
        if failed and failed[-1] is attempts[-1]:
            last = failed[-1]
            if last.retry_at is None:
                error = ProviderError(last.error, code=last.error_code, retryable=False)
                self._give_up(call, error, len(failed), reason)
            self._wait((last.retry_at - datetime.now(UTC)).total_seconds(), call)
        return len(attempts) + 1, len(failed)

    def intend(self, call: Call, place: str, number: int, *, kind: str) -> Attempt:
        """Store that the call goes out, before it does; raises `Stopped` where the budget does not allow it."""
        self._afford(call, first=number == 1)
        doing = {
            "model": f"asking {place} for {call.model}",
            "tool": f"running {call.callee}",
            "retrieval": f"searching {place}",
        }[kind]
        with transaction.atomic():
            attempt = Attempt.objects.create(
                session=self.row.session,
                sequence_no=call.no,
                attempt=number,
                kind=kind,
                provider=place[:80],
                model=call.model,
                signature=call.signature,
                started_at=datetime.now(UTC),
            )
            if number == 1:
                self._calls += 1
            self.row.update(live_calls=self._calls, current=f"step {call.no}: {doing}"[:300])
            self.row.append_messages(_changed(attempt), "session")
            if number == 1:
                observers.call_intended(self.row.id, call.no)
        return attempt

    def succeed(self, attempt: Attempt, outcome: dict[str, Any], duration_ms: float, cost: Decimal | None) -> None:
        """Store the outcome and what it cost, so that the call is never made again."""
        self._spent = None if self._spent is None or cost is None else self._spent + cost

        def write() -> None:
            with transaction.atomic():
                if self.conclude(attempt, AttemptStatus.SUCCEEDED, outcome=outcome, duration_ms=duration_ms):
                    self.row.update(cost_usd=self._spent)
                    if cost is not None:
                        observers.call_paid(self.row.id, cost)

        outages.retry_through_outage(write)

    def conclude(self, attempt: Attempt, status: AttemptStatus, **columns: Any) -> bool:
        """Write how an attempt ended; false when that is written already.

        Raises `LostOwnership` when the worker that took the session over has given the attempt up.
        """
        for name, value in {"status": status, **columns}.items():
            setattr(attempt, name, value)
        if move(Attempt.objects.filter(id=attempt.id), AttemptStatus.INTENDED, status, **columns):
            self.row.append_messages(_changed(attempt))
            self._hooks.tell("live_call", told(attempt))
            return True
        if Attempt.objects.filter(id=attempt.id, status=attempt.status).exists():
            return False  # the connection was lost right after the commit
        raise LostOwnership

    def fail(self, attempt: Attempt, error: ProviderError, wait: float | None) -> None:
        """Write that an attempt failed, and after how many seconds the next one goes out."""
        now = datetime.now(UTC)
        columns = {
            "error_code": error.code[:40],
            "error": str(error),
            "duration_ms": (now - attempt.started_at).total_seconds() * 1000,
            "retry_at": None if wait is None else now + timedelta(seconds=wait),
        }

        def write() -> None:
            with transaction.atomic():
                self.conclude(attempt, AttemptStatus.FAILED, **columns)

        outages.retry_through_outage(write)

    def retry_after(self, call: Call, attempt: Attempt, error: ProviderError, failures: int, reason: Reason) -> None:
        """Write that an attempt failed and wait for the next one; raises `CallFailure` where there is none."""
        wait = self._wait_for(error, failures)
        self.fail(attempt, error, wait)
        if wait is None:
            self._give_up(call, error, failures, reason)
        self._wait(wait, call)

    def stopped(self, attempt: Attempt, cancelled: Exception, *, code: str = INTERRUPTED) -> NoReturn:
        """A call was given up in the middle; say for which reason."""
        self.interrupt(attempt, code)
        self.row.check()
        self.check_deadline(attempt.sequence_no)
        raise CancelRequest from cancelled

    def interrupt(self, attempt: Attempt, code: str = INTERRUPTED) -> None:
        """Write that nobody waits for an attempt any more."""
        columns = {"error_code": code, "error": "the call was given up"}
        with transaction.atomic():
            if move(Attempt.objects.filter(id=attempt.id), AttemptStatus.INTENDED, AttemptStatus.FAILED, **columns):
                attempt.refresh_from_db()
                self.row.append_messages(_changed(attempt))

    def abandon(self, attempts: list[Attempt]) -> None:
        """Give up attempts that a crash left without an outcome: these calls may be made again."""
        for attempt in attempts:
            if attempt.status == AttemptStatus.INTENDED:
                self.interrupt(attempt)

    def check_deadline(self, step: int) -> None:
        if self.is_late():
            limit = self.policy.budget.deadline_s
            raise ReplayFailure("budget_deadline", f"the budget allows {limit:g} s", step=step)

    def is_late(self) -> bool:
        """Whether the session has had all the time that its budget allows."""
        return self._deadline is not None and datetime.now(UTC) > self._deadline

    def _afford(self, call: Call, *, first: bool) -> None:
        """Refuse a call that the budget does not allow."""
        budget, spent = self.policy.budget, self._spent
        self.check_deadline(call.no)
        if first and budget.max_live_calls is not None and self._calls >= budget.max_live_calls:
            raise ReplayFailure(
                "budget_live_calls", f"the budget allows {budget.max_live_calls} live calls", step=call.no
            )
        if budget.max_cost_usd is not None and spent is not None and float(spent) >= budget.max_cost_usd:
            why = f"the budget allows ${budget.max_cost_usd:g}, and ${float(spent):.4f} is spent"
            raise ReplayFailure("budget_cost", why, step=call.no)

    def _wait_for(self, error: ProviderError, failures: int) -> float | None:
        """Seconds until the next attempt, or None when there is none."""
        retries = self.policy.retries
        if not error.retryable or failures > retries.max or (error.retry_after_s or 0.0) > _LONGEST_WAIT_S:
            return None
        return error.retry_after_s if error.retry_after_s is not None else back_off(retries, failures)

    def _give_up(self, call: Call, error: ProviderError, failures: int, reason: Reason) -> NoReturn:
        tried = "" if failures == 1 else f" after {failures} attempts"
        if (error.retry_after_s or 0.0) > _LONGEST_WAIT_S:
            tried += f"; it asks to wait for {error.retry_after_s:,.0f} s, and {_LONGEST_WAIT_S:g} s are the most"
        stopped = ReplayFailure(error.code, f"step {call.no}: {error}{tried}", step=call.no)
        failed = Answer(
            action="live",
            label=Label.SIMULATED,
            reason=reason,
            status=StepStatus.ERROR,
            error=str(error),
            detail={**label_key(), "code": error.code, "attempts": failures},
            retries=failures - 1,
        )
        raise CallFailure(failed, stopped)

    def _wait(self, seconds: float, call: Call) -> None:
        """Wait for the next attempt, ready to stop."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _LOOK_S))
            self.row.check()
            self.check_deadline(call.no)


class Watch:
    """Whether a call that is under way should be given up, looked up now and then.

    A worker that was asked to end waits longer for a call that cannot be made `again`.
    """

    def __init__(self, journal: AttemptJournal, *, again: bool = True) -> None:
        self._journal = journal
        self._again = again
        self._looked_at = time.monotonic()

    def cancelled(self) -> bool:
        now = time.monotonic()
        if now - self._looked_at < _LOOK_S:
            return False
        self._looked_at = now
        ending = self._again and shutdown.out_of_time()
        # While the database is away nobody can cancel anything.
        return self._journal.is_late() or ending or outages.if_reachable(self._is_unwanted, fallback=False)

    def _is_unwanted(self) -> bool:
        return self._journal.row.is_unwanted(again=self._again)


def back_off(retries: Retries, failures: int) -> float:
    """Seconds to wait after so many failures."""
    return min(retries.initial_s * retries.base ** (failures - 1), retries.cap_s)


def told(attempt: Attempt) -> JSONObject:
    """An attempt as telemetry says it: what a model was, used and cost, whichever attempt it was."""
    outcome: dict[str, Any] = attempt.outcome or {}
    output = outcome.get("output")
    return {
        "step": attempt.sequence_no,
        "attempt": attempt.attempt,
        "kind": attempt.kind,
        "provider": attempt.provider,
        "model": attempt.model,
        "served_model": outcome.get("served_model"),
        "status": attempt.status,
        "error_code": attempt.error_code,
        "error": attempt.error,
        "duration_ms": attempt.duration_ms,
        "retries": attempt.retry_at is not None,
        "tokens_in": outcome.get("tokens_in"),
        "tokens_out": outcome.get("tokens_out"),
        "tokens_cached": outcome.get("tokens_cached"),
        "cost_usd": None if outcome.get("cost_usd") is None else float(outcome["cost_usd"]),
        "finish_reason": output.get("finish_reason") if isinstance(output, dict) else None,
    }


def attempt_view(attempt: Attempt) -> AttemptView:
    return AttemptView(
        id=attempt.id,
        sequence_no=attempt.sequence_no,
        attempt=attempt.attempt,
        kind=attempt.kind,
        status=attempt.status,
        error=attempt.error,
        started_at=attempt.started_at,
        duration_ms=attempt.duration_ms,
        retry_at=attempt.retry_at,
    )


def _changed(attempt: Attempt) -> AttemptMessage:
    return AttemptMessage(seq=0, attempt=attempt_view(attempt))
