"""Live model calls of a session, and their text as it comes."""

import time
from decimal import Decimal
from typing import Any, Final

from replay.core.calls import Answer, Call
from replay.execution.calls.attempts import AttemptJournal, Watch
from replay.execution.messages import TextMessage
from replay.live import outages, providers
from replay.models import Attempt
from traces.core.vocabulary import Label, Reason

_FLUSH_S: Final = 0.1  # ten pieces of text a second are enough to read along


def answer(journal: AttemptJournal, call: Call, provider: str) -> Answer:
    """One model call with its retries."""

    def ask(attempt: Attempt) -> Answer:
        return _ask(journal, call, provider, attempt)

    return journal.repeat(call, provider, ask, restored=_restored, kind="model", reason=Reason.LIVE_MODEL)


def _ask(journal: AttemptJournal, call: Call, provider: str, attempt: Attempt) -> Answer:
    stream = _Stream(journal, call.no)
    asked = providers.ModelCall(provider=provider, model=call.model, input=call.input)  # type: ignore[arg-type]  # a complete model call's input is an object
    try:
        found = providers.answer(asked, on_text=stream.text, cancelled=stream.cancelled)
    except providers.Cancelled as cancelled:
        journal.stopped(attempt, cancelled)
    stream.flush()
    outcome: dict[str, Any] = {
        "output": found.output,
        "tokens_in": found.tokens_in,
        "tokens_out": found.tokens_out,
        "tokens_cached": found.tokens_cached,
        "cost_usd": None if found.cost_usd is None else str(found.cost_usd),
        "duration_ms": found.duration_ms,
        "served_model": found.served_model,
        "left_out": list(found.left_out),
    }
    journal.succeed(attempt, outcome, found.duration_ms, found.cost_usd)
    return _restored(attempt)


class _Stream(Watch):
    """Text of one attempt, told in pieces of a tenth of a second."""

    def __init__(self, journal: AttemptJournal, step: int) -> None:
        super().__init__(journal)
        self._row = journal.row
        self._step = step
        self._offset = 0
        self._waiting: list[str] = []
        self._told_at = 0.0

    def text(self, piece: str) -> None:
        self._waiting.append(piece)
        if time.monotonic() - self._told_at >= _FLUSH_S:
            self.flush()

    def flush(self) -> None:
        text = "".join(self._waiting)
        if not text:
            return
        self._told_at = time.monotonic()
        if outages.if_reachable(lambda: self._say(text), fallback=False):
            self._waiting.clear()
            self._offset += len(text)

    def _say(self, text: str) -> bool:
        self._row.append_messages(TextMessage(seq=0, sequence_no=self._step, offset=self._offset, text=text))
        return True


def _restored(attempt: Attempt) -> Answer:
    """The answer that a successful attempt stored."""
    outcome: dict[str, Any] = attempt.outcome or {}
    cost = outcome["cost_usd"]
    detail: dict[str, Any] = {"provider": attempt.provider, "served_model": outcome["served_model"]}
    if outcome["left_out"]:
        detail["left_out"] = outcome["left_out"]
    return Answer(
        action="live",
        label=Label.SIMULATED,
        reason=Reason.LIVE_MODEL,
        output=outcome["output"],
        detail=detail,
        tokens_in=outcome["tokens_in"],
        tokens_out=outcome["tokens_out"],
        tokens_cached=outcome["tokens_cached"],
        cost_usd=None if cost is None else Decimal(cost),
        duration_ms=outcome["duration_ms"],
        retries=attempt.attempt - 1,
    )
