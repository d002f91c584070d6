"""Live model calls of a session, with streaming of their text."""

import time
from decimal import Decimal
from functools import partial
from typing import Any, Final

from replay.core.calls import Answer, Call
from replay.execution.calls.attempts import AttemptJournal, Watch
from replay.execution.messages import TextMessage
from replay.live import outages, providers
from replay.models import Attempt
from replay.store.recorded_api import uses_responses
from traces.core.vocabulary import Label, Reason

_FLUSH_S: Final = 0.1  # ten updates per second are enough to read along


def answer(journal: AttemptJournal, call: Call, provider: str) -> Answer:
    """Make one model call, with retries."""

    def ask(attempt: Attempt) -> Answer:
        return _ask(journal, call, provider, attempt)

    return journal.repeat(call, provider, ask, restore=_stored_answer, kind="model", reason=Reason.LIVE_MODEL)


def _ask(journal: AttemptJournal, call: Call, provider: str, attempt: Attempt) -> Answer:
    stream = _Stream(journal, call.no)
    source_run_id = journal.row.session.source_run_id
    model_call = providers.ModelCall(
        provider=provider,
        model=call.model,
        input=call.input,  # type: ignore[arg-type]  # an object: the input of a complete model call
        is_response=call.provider in ("", provider) and uses_responses(source_run_id, provider),
    )
    try:
        model_answer = providers.answer(model_call, on_text=stream.text, cancelled=stream.cancelled)
    except providers.Cancelled as error:
        journal.abort(attempt, error)
    outcome: dict[str, Any] = {
        "output": model_answer.output,
        "tokens_in": model_answer.tokens_in,
        "tokens_out": model_answer.tokens_out,
        "tokens_cached": model_answer.tokens_cached,
        "cost_usd": None if model_answer.cost_usd is None else str(model_answer.cost_usd),
        "duration_ms": model_answer.duration_ms,
        "served_model": model_answer.served_model,
        "left_out": list(model_answer.left_out),
    }
    journal.store_success(attempt, outcome, model_answer.duration_ms, model_answer.cost_usd, *stream.rest())
    return _stored_answer(attempt)


class _Stream(Watch):
    """Streams the text of one attempt to the event log, at most ten times per second."""

    def __init__(self, journal: AttemptJournal, step: int) -> None:
        super().__init__(journal)
        self._row = journal.row
        self._step = step
        self._offset = 0
        self._text = ""
        self._redaction = journal.redaction
        self._flushed_at = 0.0

    def text(self, piece: str) -> None:
        if not self._text:
            # The text of a short answer is stored as a whole, with its outcome.
            self._flushed_at = time.monotonic()
        self._text += piece
        if time.monotonic() - self._flushed_at >= _FLUSH_S:
            self._flush(self._redaction.beginning(self._text))

    def rest(self) -> list[TextMessage]:
        """Return the text that is not in the event log yet."""
        return self._messages(self._redaction.text(self._text))

    def _flush(self, safe_text: str) -> None:
        for message in self._messages(safe_text):
            self._flushed_at = time.monotonic()
            if outages.if_reachable(partial(self._append, message), fallback=False):
                self._offset += len(message.text)

    def _messages(self, safe_text: str) -> list[TextMessage]:
        text = safe_text[self._offset :]
        return [TextMessage(seq=0, sequence_no=self._step, offset=self._offset, text=text)] if text else []

    def _append(self, message: TextMessage) -> bool:
        self._row.append_messages(message)
        return True


def _stored_answer(attempt: Attempt) -> Answer:
    """Return the stored answer of a successful attempt."""
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
