"""Live model calls of a session: intent before, outcome after, retries, budget, and text as it comes."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, NoReturn

from django.db import transaction

from replay import derived, log, outages, providers, stopping
from replay.experiments import progress
from replay.models import Attempt, ReplaySession
from replay.policy import Retries
from replay.problems import CancelRequested, OwnershipLost, Stopped
from replay.schemas import AttemptChanged, AttemptView, TextStreamed
from replay.world import Answer, Call, label_key
from traces.json_types import JSONObject
from traces.vocabulary import Label, Reason, StepStatus

if TYPE_CHECKING:
    from replay.execution import Execution

_FLUSH_S: Final = 0.1  # ten pieces of text a second are enough to read along
_LOOK_S: Final = 0.2  # how often a running or waiting call looks whether it should stop
_LONGEST_WAIT_S: Final = 900.0  # that `Retry-After` may ask for: a worker waits no longer for one call
INTERRUPTED: Final = "interrupted"


class LiveCalls:
    """The live calls of one execution."""

    def __init__(self, execution: "Execution") -> None:
        self.execution = execution
        self.session = execution.session
        self.policy = execution.policy
        self.spent = self.session.cost_usd
        self.calls = self.session.live_calls
        self.experiment = progress.experiment_of(self.session.id)
        started = self.session.started_at or datetime.now(UTC)
        limit = self.policy.budget.deadline_s
        self.deadline = None if limit is None else started + timedelta(seconds=limit)

    def answer(self, call: Call, provider: str) -> Answer:
        """One model call with its retries."""

        def ask(attempt: Attempt) -> Answer:
            return self._ask(call, provider, attempt)

        return self.repeatable(call, provider, ask, restored=_restored)

    def repeatable(
        self, call: Call, place: str, ask: Callable[[Attempt], Answer], *, restored: Callable[[Attempt], Answer],
        kind: str = "model", reason: Reason = Reason.LIVE_MODEL,
    ) -> Answer:  # fmt: skip
        """A call that does no harm when it is made twice, with its retries.

        One that succeeded before a crash is not made again.
        """
        self.abandon(self.attempts(call))
        attempts = self.attempts(call)
        for attempt in attempts:
            if attempt.status == "succeeded":
                return restored(attempt)
        number, failures = self.resume(call, attempts, reason)
        while True:
            self._afford(call, first=number == 1)
            attempt = self._intend(call, place, number, kind=kind)
            try:
                return ask(attempt)
            except providers.ProviderError as error:
                failures += 1
                wait = self._wait_for(error, failures)
                self._failed(attempt, error, wait)
                if wait is None:
                    self._give_up(call, error, failures, reason)
                self._sleep(wait, call)
                number += 1

    def attempts(self, call: Call) -> list[Attempt]:
        return list(Attempt.objects.filter(session=self.session, sequence_no=call.no).order_by("attempt"))

    def resume(self, call: Call, attempts: list[Attempt], reason: Reason) -> tuple[int, int]:
        """The number of the next attempt, and how many failed, once it may go out.

        Another worker may have died while it waited for this, or just before it gave up.
        """
        # Attempts that a crash cut off do not count against the policy: nobody knows their outcome.
        failed = [attempt for attempt in attempts if attempt.error_code != INTERRUPTED]
        if failed and failed[-1] is attempts[-1]:
            last = failed[-1]
            if last.retry_at is None:
                error = providers.ProviderError(last.error, code=last.error_code, retryable=False)
                self._give_up(call, error, len(failed), reason)
            self._sleep((last.retry_at - datetime.now(UTC)).total_seconds(), call)
        return len(attempts) + 1, len(failed)

    def check_deadline(self, step: int) -> None:
        if self.deadline is not None and datetime.now(UTC) > self.deadline:
            limit = self.policy.budget.deadline_s
            raise Stopped("budget_deadline", f"the budget allows {limit:g} s", step=step)

    def _afford(self, call: Call, *, first: bool) -> None:
        """Refuse a call that the budget does not allow."""
        budget = self.policy.budget
        self.check_deadline(call.no)
        if first and budget.max_live_calls is not None and self.calls >= budget.max_live_calls:
            raise Stopped("budget_live_calls", f"the budget allows {budget.max_live_calls} live calls", step=call.no)
        if budget.max_cost_usd is not None and self.spent is not None and float(self.spent) >= budget.max_cost_usd:
            spent = f"the budget allows ${budget.max_cost_usd:g}, and ${float(self.spent):.4f} is spent"
            raise Stopped("budget_cost", spent, step=call.no)

    def _intend(self, call: Call, provider: str, number: int, *, kind: str = "model") -> Attempt:
        """Store that the call goes out, before it does."""
        doing = {"model": f"asking {provider} for {call.model}", "tool": f"running {call.called}",
                 "retrieval": f"searching {provider}"}[kind]  # fmt: skip
        with transaction.atomic():
            attempt = Attempt.objects.create(
                session=self.session, sequence_no=call.no, attempt=number, kind=kind,
                provider=provider[:80], model=call.model, signature=call.signature, started_at=datetime.now(UTC),
            )  # fmt: skip
            if number == 1:
                self.calls += 1
            self.execution._update(live_calls=self.calls, current=f"step {call.no}: {doing}"[:300])
            log.say(self.session.id, _changed(attempt), "session")
            if number == 1 and self.experiment is not None:
                progress.take_call(self.experiment, call.no)
        return attempt

    def _ask(self, call: Call, provider: str, attempt: Attempt) -> Answer:
        stream = _Stream(self, call.no)
        asked = providers.ModelCall(provider=provider, model=call.model, input=call.input)  # type: ignore[arg-type]  # a complete model call's input is an object
        try:
            found = providers.answer(asked, on_text=stream.text, cancelled=stream.cancelled)
        except providers.Cancelled as cancelled:
            self.stopped(attempt, cancelled)
        stream.flush()
        return self._succeeded(attempt, found)

    def _succeeded(self, attempt: Attempt, found: "providers.ModelAnswer") -> Answer:
        outcome: dict[str, Any] = {
            "output": found.output, "tokens_in": found.tokens_in, "tokens_out": found.tokens_out,
            "tokens_cached": found.tokens_cached, "cost_usd": None if found.cost_usd is None else str(found.cost_usd),
            "duration_ms": found.duration_ms, "served_model": found.served_model, "left_out": list(found.left_out),
        }  # fmt: skip
        self.store(attempt, outcome, found.duration_ms, found.cost_usd)
        return _restored(attempt)

    def store(self, attempt: Attempt, outcome: dict[str, Any], duration_ms: float, cost: Decimal | None) -> None:
        """Store the outcome and what it cost, so that the call is never made again."""
        self.spent = None if self.spent is None or cost is None else self.spent + cost

        def write() -> None:
            with transaction.atomic():
                if self.conclude(attempt, status="succeeded", outcome=outcome, duration_ms=duration_ms):
                    self.execution._update(cost_usd=self.spent)
                    if self.experiment is not None and cost is not None:
                        progress.add_cost(self.experiment, cost)

        outages.patiently(write)

    def conclude(self, attempt: Attempt, **columns: Any) -> bool:
        """Write how an attempt ended; false when that is written already.

        Raises `OwnershipLost` when the worker that took the session over has given the attempt up.
        """
        for name, value in columns.items():
            setattr(attempt, name, value)
        if Attempt.objects.filter(id=attempt.id, status="intended").update(**columns):
            log.say(self.session.id, _changed(attempt))
            self.execution.hooks.tell("live_call", told(attempt))
            return True
        if Attempt.objects.filter(id=attempt.id, status=attempt.status).exists():
            return False  # the connection was lost right after the commit
        raise OwnershipLost

    def stopped(self, attempt: Attempt, cancelled: Exception, *, code: str = INTERRUPTED) -> NoReturn:
        """A call was given up in the middle; say for which reason."""
        self._interrupted(attempt, code)
        self.execution.check_cancelled()
        self.check_deadline(attempt.sequence_no)
        raise CancelRequested from cancelled

    def _failed(self, attempt: Attempt, error: "providers.ProviderError", wait: float | None) -> None:
        now = datetime.now(UTC)
        columns = {
            "status": "failed", "error_code": error.code[:40], "error": str(error),
            "duration_ms": (now - attempt.started_at).total_seconds() * 1000,
            "retry_at": None if wait is None else now + timedelta(seconds=wait),
        }  # fmt: skip

        def write() -> None:
            with transaction.atomic():
                self.conclude(attempt, **columns)

        outages.patiently(write)

    def _interrupted(self, attempt: Attempt, code: str = INTERRUPTED) -> None:
        columns = {"status": "failed", "error_code": code, "error": "the call was given up"}
        with transaction.atomic():
            if Attempt.objects.filter(id=attempt.id, status="intended").update(**columns):
                attempt.refresh_from_db()
                log.say(self.session.id, _changed(attempt))

    def abandon(self, attempts: list[Attempt]) -> None:
        """Give up attempts that a crash left without an outcome: these calls may be made again."""
        for attempt in attempts:
            if attempt.status == "intended":
                self._interrupted(attempt)

    def _wait_for(self, error: "providers.ProviderError", failures: int) -> float | None:
        """Seconds until the next attempt, or None when there is none."""
        retries = self.policy.retries
        if not error.retryable or failures > retries.max or (error.retry_after_s or 0.0) > _LONGEST_WAIT_S:
            return None
        return error.retry_after_s if error.retry_after_s is not None else back_off(retries, failures)

    def _give_up(
        self, call: Call, error: "providers.ProviderError", failures: int, reason: Reason = Reason.LIVE_MODEL
    ) -> NoReturn:
        tried = "" if failures == 1 else f" after {failures} attempts"
        if (error.retry_after_s or 0.0) > _LONGEST_WAIT_S:
            tried += f"; it asks to wait for {error.retry_after_s:,.0f} s, and {_LONGEST_WAIT_S:g} s are the most"
        stopped = Stopped(error.code, f"step {call.no}: {error}{tried}", step=call.no)
        failed = Answer(
            action="live", label=Label.SIMULATED, reason=reason, status=StepStatus.ERROR, error=str(error),
            detail={**label_key(), "code": error.code, "attempts": failures}, retries=failures - 1,
        )  # fmt: skip
        self.execution.fail_step(derived.row(call, failed, self.session.source_run_id, self.execution.save), stopped)

    def _sleep(self, seconds: float, call: Call) -> None:
        """Wait for the next attempt, ready to stop."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _LOOK_S))
            self.execution.check_cancelled()
            self.check_deadline(call.no)


class Watch:
    """Whether a call that is under way should be given up, looked up now and then.

    A worker that was asked to end waits longer for a call that cannot be made `again`.
    """

    def __init__(self, calls: LiveCalls, *, again: bool = True) -> None:
        self.calls = calls
        self.again = again
        self.looked_at = time.monotonic()

    def cancelled(self) -> bool:
        now = time.monotonic()
        if now - self.looked_at < _LOOK_S:
            return False
        self.looked_at = now
        late = self.calls.deadline is not None and datetime.now(UTC) > self.calls.deadline
        ending = self.again and stopping.out_of_time()
        # While the database is away nobody can cancel anything.
        return late or ending or outages.if_reachable(self._unwanted, otherwise=False)

    def _unwanted(self) -> bool:
        row = ReplaySession.objects.values_list("cancel_requested", "owner").get(id=self.calls.session.id)
        # What another worker would not ask again is waited for: the answer may still come.
        return bool(row[0]) or (self.again and row[1] != self.calls.execution.owner)


class _Stream(Watch):
    """Text of one attempt, told in pieces of a tenth of a second."""

    def __init__(self, calls: LiveCalls, step: int) -> None:
        super().__init__(calls)
        self.step = step
        self.offset = 0
        self.waiting: list[str] = []
        self.told_at = 0.0

    def text(self, piece: str) -> None:
        self.waiting.append(piece)
        if time.monotonic() - self.told_at >= _FLUSH_S:
            self.flush()

    def flush(self) -> None:
        text = "".join(self.waiting)
        if not text:
            return
        self.told_at = time.monotonic()
        if outages.if_reachable(lambda: self._say(text), otherwise=False):
            self.waiting.clear()
            self.offset += len(text)

    def _say(self, text: str) -> bool:
        said = TextStreamed(seq=0, sequence_no=self.step, offset=self.offset, text=text)
        log.say(self.calls.session.id, said)
        return True


def back_off(retries: Retries, failures: int) -> float:
    """Seconds to wait after so many failures."""
    return min(retries.initial_s * retries.base ** (failures - 1), retries.cap_s)


def _restored(attempt: Attempt) -> Answer:
    """The answer that a successful attempt stored."""
    outcome: dict[str, Any] = attempt.outcome or {}
    cost = outcome["cost_usd"]
    detail: dict[str, Any] = {"provider": attempt.provider, "served_model": outcome["served_model"]}
    if outcome["left_out"]:
        detail["left_out"] = outcome["left_out"]
    return Answer(
        action="live", label=Label.SIMULATED, reason=Reason.LIVE_MODEL, output=outcome["output"], detail=detail,
        tokens_in=outcome["tokens_in"], tokens_out=outcome["tokens_out"], tokens_cached=outcome["tokens_cached"],
        cost_usd=None if cost is None else Decimal(cost), duration_ms=outcome["duration_ms"],
        retries=attempt.attempt - 1,
    )  # fmt: skip


def told(attempt: Attempt) -> JSONObject:
    """An attempt as telemetry says it: what a model was, used and cost, whichever attempt it was."""
    outcome: dict[str, Any] = attempt.outcome or {}
    output = outcome.get("output")
    return {
        "step": attempt.sequence_no, "attempt": attempt.attempt, "kind": attempt.kind, "provider": attempt.provider,
        "model": attempt.model, "served_model": outcome.get("served_model"), "status": attempt.status,
        "error_code": attempt.error_code, "error": attempt.error, "duration_ms": attempt.duration_ms,
        "retries": attempt.retry_at is not None, "tokens_in": outcome.get("tokens_in"),
        "tokens_out": outcome.get("tokens_out"), "tokens_cached": outcome.get("tokens_cached"),
        "cost_usd": None if outcome.get("cost_usd") is None else float(outcome["cost_usd"]),
        "finish_reason": output.get("finish_reason") if isinstance(output, dict) else None,
    }  # fmt: skip


def view_of(attempt: Attempt) -> AttemptView:
    return AttemptView(
        id=attempt.id, sequence_no=attempt.sequence_no, attempt=attempt.attempt,
        kind=attempt.kind, status=attempt.status, error=attempt.error, started_at=attempt.started_at,
        duration_ms=attempt.duration_ms, retry_at=attempt.retry_at,
    )  # fmt: skip


def _changed(attempt: Attempt) -> AttemptChanged:
    return AttemptChanged(seq=0, attempt=view_of(attempt))
