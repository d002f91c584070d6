"""Attempt journal: intents and outcomes of a session's live calls, retries and budget."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any, Final, NoReturn

from django.db import transaction
from pydantic import BaseModel

from diffing.sentences.text import count_noun
from replay.core.calls import Answer, Call, label_key
from replay.core.errors import CancelRequest, LostOwnership, ReplayFailure
from replay.core.hooks import Hooks
from replay.core.vocabulary import AttemptStatus
from replay.execution import observers
from replay.execution.messages import AttemptMessage, AttemptView
from replay.execution.session_redaction import SessionRedaction
from replay.execution.session_row import SessionRow
from replay.live import outages, shutdown
from replay.live.providers.types import ProviderError
from replay.models import Attempt
from replay.overrides.policy import Policy, Retries
from traces.core.json_access import member
from traces.core.json_types import JSONObject
from traces.core.vocabulary import Label, Reason, StepStatus
from traces.storage import statements
from traces.transitions import move, move_row

# Poll interval at which a running or waiting call checks whether it should stop.
_POLL_S: Final = 0.2
# Longest `Retry-After` that a worker accepts.
_MAX_WAIT_S: Final = 900.0
INTERRUPTION: Final = "interrupted"
_ATTEMPT_COLUMNS: Final = tuple(field.attname for field in Attempt._meta.concrete_fields if field.name != "id")


class CallFailure(Exception):
    """A live call failed for good: `answer` is stored as the step, `stop` ends the replay."""

    def __init__(self, answer: Answer, stop: ReplayFailure) -> None:
        super().__init__(str(stop))
        self.answer = answer
        self.stop = stop


class AttemptJournal:
    """Journal of the live calls of one session."""

    def __init__(self, row: SessionRow, policy: Policy, hooks: Hooks) -> None:
        self.row = row
        self.policy = policy
        self.redaction = SessionRedaction(row.session.source_run.app)
        self._hooks = hooks
        self._cost_usd = row.session.cost_usd
        self._calls = row.session.live_calls
        self._deadline = row.session.deadline

    def repeat(
        self,
        call: Call,
        place: str,
        ask: Callable[[Attempt], Answer],
        *,
        restore: Callable[[Attempt], Answer],
        kind: str,
        reason: Reason,
    ) -> Answer:
        """Make a call that may safely be repeated, with retries.

        A call that succeeded before a crash is not repeated.
        """
        attempts = self.attempts_for(call)
        self.abandon(attempts)
        for attempt in attempts:
            if attempt.status == AttemptStatus.SUCCEEDED:
                return restore(attempt)
        number, failures = self.resume(call, attempts, reason)
        while True:
            attempt = self.intend(call, place, number, kind=kind)
            try:
                return ask(attempt)
            except ProviderError as error:
                failures += 1
                self.retry_after(call, attempt, error, failures, reason)
                number += 1

    def attempts_for(self, call: Call) -> list[Attempt]:
        """Return the attempts at a call, in order."""
        if call.no not in self._steps_with_attempts:
            return []
        return list(Attempt.objects.filter(session=self.row.session, sequence_no=call.no).order_by("attempt"))

    @cached_property
    def _steps_with_attempts(self) -> set[int]:
        """Steps with attempts by this or an earlier worker: only the owner of a session makes new ones."""
        return set(Attempt.objects.filter(session=self.row.session).values_list("sequence_no", flat=True))

    def resume(self, call: Call, attempts: list[Attempt], reason: Reason) -> tuple[int, int]:
        """Wait until the next attempt is due; return its number and the number of failures so far.

        A previous worker may have died during this wait, or just before it gave up.
        """
        # Attempts interrupted by a crash do not count against the policy: their outcome is unknown.
        failed = [attempt for attempt in attempts if attempt.error_code != INTERRUPTION]
        if failed and failed[-1] is attempts[-1]:
            last = failed[-1]
            if last.retry_at is None:
                error = ProviderError(last.error, code=last.error_code, retryable=False)
                self._give_up(call, error, len(failed), reason)
            # Never longer than when it was stored: the clock may have been set back since.
            rest = min(last.retry_at - datetime.now(UTC), last.retry_at - last.started_at)
            self._wait(rest.total_seconds(), call)
        return len(attempts) + 1, len(failed)

    def intend(self, call: Call, place: str, number: int, *, kind: str) -> Attempt:
        """Store the intent of a call before it is made; raises `ReplayFailure` if it exceeds the budget."""
        self._check_budget(call, first=number == 1)
        doing = {
            "model": f"asking {place} for {call.model}",
            "tool": f"running {call.callee}",
            "retrieval": f"searching {place}",
        }[kind]
        self._steps_with_attempts.add(call.no)
        with transaction.atomic():
            attempt = Attempt(
                session=self.row.session,
                sequence_no=call.no,
                attempt=number,
                kind=kind,
                provider=place[:80],
                model=call.model,
                signature=call.signature,
                started_at=datetime.now(UTC),
            )
            attempt.id = statements.insert(Attempt, {name: getattr(attempt, name) for name in _ATTEMPT_COLUMNS})
            if number == 1:
                self._calls += 1
            columns = {"live_calls": self._calls, "current": f"step {call.no}: {doing}"[:300]}
            self.row.record(columns, _message(attempt), "session")
            if number == 1:
                observers.call_intended(self.row.id, call.no)
        return attempt

    def store_success(
        self,
        attempt: Attempt,
        outcome: dict[str, Any],
        duration_ms: float,
        cost: Decimal | None,
        *messages: BaseModel,
    ) -> None:
        """Store the outcome and cost, so that the call is never repeated; append `messages` with them."""
        self._cost_usd = None if self._cost_usd is None or cost is None else self._cost_usd + cost

        def write() -> None:
            with transaction.atomic():
                columns = {"outcome": outcome, "duration_ms": duration_ms}
                if self._store_end(attempt, AttemptStatus.SUCCEEDED, columns):
                    self.row.record({"cost_usd": self._cost_usd}, *messages, _message(attempt))
                    if cost is not None:
                        observers.call_paid(self.row.id, cost)

        outages.retry_through_outage(write)

    def conclude(self, attempt: Attempt, status: AttemptStatus, *messages: BaseModel, **columns: Any) -> bool:
        """Store how an attempt ended; False if this is stored already.

        Raises `LostOwnership` if another worker took the session over and abandoned the attempt.
        """
        is_new = self._store_end(attempt, status, columns)
        if is_new:
            self.row.append_messages(*messages, _message(attempt))
        return is_new

    def _store_end(self, attempt: Attempt, status: AttemptStatus, columns: dict[str, Any]) -> bool:
        """Like `conclude`, without messages."""
        if "outcome" in columns:
            columns["outcome"] = self.redaction.outcome(attempt.kind, columns["outcome"])
        if "error" in columns:
            columns["error"] = self.redaction.text(columns["error"])
        for name, value in {"status": status, **columns}.items():
            setattr(attempt, name, value)
        if move_row(Attempt, attempt.id, AttemptStatus.INTENDED, status, **columns):
            self._hooks.send_telemetry("live_call", telemetry_payload(attempt))
            return True
        if Attempt.objects.filter(id=attempt.id, status=attempt.status).exists():
            # Stored before the connection was lost.
            return False
        raise LostOwnership

    def fail(self, attempt: Attempt, error: ProviderError, wait: float | None) -> None:
        """Store the failure of an attempt, and the seconds until the next one; None: no further attempt."""
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
        """Store the failure of an attempt and wait for the next one; raises `CallFailure` if there is none."""
        wait = self._wait_for(error, failures)
        self.fail(attempt, error, wait)
        if wait is None:
            self._give_up(call, error, failures, reason)
        self._wait(wait, call)

    def abort(self, attempt: Attempt, error: Exception, *, code: str = INTERRUPTION) -> NoReturn:
        """Raise the reason for abandoning a call: ownership, shutdown, deadline or cancellation."""
        self.interrupt(attempt, code)
        self.row.check()
        self.check_deadline(attempt.sequence_no)
        raise CancelRequest from error

    def interrupt(self, attempt: Attempt, code: str = INTERRUPTION) -> None:
        """Store that an attempt was abandoned."""
        columns = {"error_code": code, "error": "the call was given up"}
        with transaction.atomic():
            is_moved = move(
                Attempt.objects.filter(id=attempt.id), AttemptStatus.INTENDED, AttemptStatus.FAILED, **columns
            )
            # If not, another worker concluded it.
            attempt.refresh_from_db()
            if is_moved:
                self.row.append_messages(_message(attempt))

    def abandon(self, attempts: list[Attempt]) -> None:
        """Abandon attempts that a crash left without an outcome; only for calls that may be repeated."""
        for attempt in attempts:
            if attempt.status == AttemptStatus.INTENDED:
                self.interrupt(attempt)

    def check_deadline(self, step: int) -> None:
        if self.is_late():
            limit = self.policy.budget.deadline_s
            raise ReplayFailure("budget_deadline", f"the budget allows {limit:g} s", step=step)

    def is_late(self) -> bool:
        """True if the session has exceeded the deadline of its budget."""
        return self._deadline is not None and datetime.now(UTC) > self._deadline

    def _check_budget(self, call: Call, *, first: bool) -> None:
        """Raise `ReplayFailure` if the budget does not allow the call."""
        budget, cost = self.policy.budget, self._cost_usd
        self.check_deadline(call.no)
        if first and budget.max_live_calls is not None and self._calls >= budget.max_live_calls:
            allowance = count_noun(budget.max_live_calls, "live call")
            raise ReplayFailure("budget_live_calls", f"the budget allows {allowance}", step=call.no)
        if budget.max_cost_usd is not None and cost is not None and float(cost) >= budget.max_cost_usd:
            message = f"the budget allows ${budget.max_cost_usd:g}, and ${float(cost):.4f} is spent"
            raise ReplayFailure("budget_cost", message, step=call.no)

    def _wait_for(self, error: ProviderError, failures: int) -> float | None:
        """Seconds until the next attempt; None if there is none."""
        retries = self.policy.retries
        if not error.retryable or failures > retries.max or (error.retry_after_s or 0.0) > _MAX_WAIT_S:
            return None
        return error.retry_after_s if error.retry_after_s is not None else back_off(retries, failures)

    def _give_up(self, call: Call, error: ProviderError, failures: int, reason: Reason) -> NoReturn:
        message = self.redaction.text(str(error))
        attempts_text = "" if failures == 1 else f" after {failures} attempts"
        if (error.retry_after_s or 0.0) > _MAX_WAIT_S:
            attempts_text += (
                f"; it asks to wait for {error.retry_after_s:,.0f} s, longer than the limit of {_MAX_WAIT_S:g} s"
            )
        stop = ReplayFailure(error.code, f"step {call.no}: {message}{attempts_text}", step=call.no)
        answer = Answer(
            action="live",
            label=Label.SIMULATED,
            reason=reason,
            status=StepStatus.ERROR,
            error=message,
            detail={**label_key(), "code": error.code, "attempts": failures},
            retries=failures - 1,
        )
        raise CallFailure(answer, stop)

    def _wait(self, seconds: float, call: Call) -> None:
        """Wait for the next attempt, and check for reasons to stop meanwhile."""
        deadline = time.monotonic() + seconds
        while (remaining := deadline - time.monotonic()) > 0:
            time.sleep(min(remaining, _POLL_S))
            self.row.check()
            self.check_deadline(call.no)


class Watch:
    """Polls whether the call in flight should be abandoned.

    A worker that is shutting down waits for calls that are not `repeatable`.
    """

    def __init__(self, journal: AttemptJournal, *, repeatable: bool = True) -> None:
        self._journal = journal
        self._repeatable = repeatable
        self._polled_at = time.monotonic()

    def cancelled(self) -> bool:
        now = time.monotonic()
        if now - self._polled_at < _POLL_S:
            return False
        self._polled_at = now
        ending = self._repeatable and shutdown.out_of_time()
        # During a database outage nothing can be cancelled.
        return self._journal.is_late() or ending or outages.if_reachable(self._should_abandon, fallback=False)

    def _should_abandon(self) -> bool:
        return self._journal.row.should_abandon(repeatable=self._repeatable)


def back_off(retries: Retries, failures: int) -> float:
    """Seconds to wait after this many failures."""
    return min(retries.initial_s * retries.base ** (failures - 1), retries.cap_s)


def telemetry_payload(attempt: Attempt) -> JSONObject:
    """Telemetry payload of one attempt, with the model, its tokens and cost."""
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
        "finish_reason": member(output, "finish_reason"),
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


def _message(attempt: Attempt) -> AttemptMessage:
    return AttemptMessage(seq=0, attempt=attempt_view(attempt))
