"""Model calls of a rerun as they are stored: the events of a request and of its answer."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache, cached_property
from typing import Final

import orjson
from django.db import transaction
from django.db.models import F, Q

from forkpoint.vocabulary import LANE
from replay.core.errors import ReplayFailure
from replay.core.vocabulary import RerunDecision
from replay.execution import observers
from replay.live.pricing import price
from replay.models import ReplaySession, Rerun, RerunCall
from replay.reruns import starts
from replay.reruns.core.recorded_calls import RecordedRequest
from replay.reruns.core.renaming import is_among, named_values, nothing_is_meant
from replay.reruns.core.volatile_values.generated_values import Generator
from replay.reruns.core.volatile_values.volatile_tokens import CLOCK_KINDS, ID_KINDS, MEASURED_KINDS, Kind
from replay.reruns.recordings import REQUEST_HEADERS, RecordedResponse, read_response, strict_fields
from replay.reruns.schemas import RerunBudget
from traces.core.json_access import as_object, as_text
from traces.core.json_types import JSONObject
from traces.core.vocabulary import Label, Reason
from traces.importers.formats.tracing.client_calls import model_answer, model_request
from traces.payloads.messages import ModelAnswer
from traces.recordings import segment_redaction
from traces.redaction.raw_responses import RAW_RESPONSE
from traces.redaction_policies import services as policies
from traces.storage.compression import compress, decompress

# Answers of models and of tools that are not those of the recorded step.
_IS_NEW: Final = Q(label=Label.SIMULATED) | Q(reason=Reason.CACHE_SIGNATURE)
_IS_NEW_RESULT: Final = (
    Q(decision__in=[RerunDecision.OVERRIDDEN, RerunDecision.RUN])
    | Q(detail__has_key="arguments")
    | Q(detail__has_key="matched")
)
# Fewer than those of a token in any language, so that the estimate is high.
_BYTES_PER_TOKEN: Final = 3


def store_answered(call_id: int, lines: bytes, *, app: str) -> None:
    """Store the events of a call that is not made: its answer, or why it gets none, is known."""
    RerunCall.objects.filter(id=call_id).update(exchange=compress(_redact(lines, app)))


def store_live(call_id: int, lines: bytes, *, app: str) -> None:
    """Store the events of a live call, before it is made and before its answer is given."""
    data = _redact(lines, app)
    with transaction.atomic():
        call = RerunCall.objects.select_for_update().get(id=call_id)
        is_paid = call.exchange is not None and Exchange(call).is_complete
        call.exchange = compress(data)
        if Exchange(call).is_complete:
            call.owner = ""
        call.save(update_fields=["exchange", "owner"])
        if call.reason == Reason.LIVE_MODEL and not is_paid:
            _count_cost(call)


def _count_cost(call: RerunCall) -> None:
    """Add the cost of a live call to that of its rerun. An unknown one is counted: it is not zero."""
    exchange, rerun = Exchange(call), Rerun.objects.filter(id=call.rerun_id)
    if exchange.is_unpriced:
        rerun.update(unpriced_calls=F("unpriced_calls") + 1)
    elif cost := exchange.cost_usd:
        rerun.update(cost_usd=F("cost_usd") + cost)
        for session_id in ReplaySession.objects.filter(rerun=call.rerun_id).values_list("id", flat=True):
            observers.call_paid(session_id, cost)


def _redact(lines: bytes, app: str) -> bytes:
    """Return events as the app's policy allows."""
    return segment_redaction.redact_data(lines, policies.redaction_of(app)).data


def beat(call_ids: Collection[int]) -> None:
    """Show that this process still waits for the answers of calls."""
    RerunCall.objects.filter(id__in=call_ids).update(beat=F("beat") + 1)


def sign_of_life(call_id: int) -> tuple[str, int]:
    """Return which process waits for the answer of a call, and a number that changes while it does."""
    return RerunCall.objects.filter(id=call_id).values_list("owner", "beat").first() or ("", 0)


def take_from(call_id: int, owner: str) -> None:
    """Let a call be made again whose process has gone."""
    RerunCall.objects.filter(id=call_id, owner=owner).update(owner="")


def begin_live_call(rerun: Rerun, session: ReplaySession | None, *, provider: str, model: str, step: int) -> str:
    """Count a live call that is about to be made in the place of a step; return why it must not be made, or nothing.

    Raise `SessionConflict` if the agent ends.
    """
    starts.require_agent(rerun)
    if block := _find_block(rerun, provider, model):
        return block
    try:
        if session is not None:
            observers.call_intended(session.id, step)
    except ReplayFailure as failure:
        return str(failure)
    Rerun.objects.filter(id=rerun.id).update(live_calls=F("live_calls") + 1)
    return ""


def _find_block(rerun: Rerun, provider: str, model: str) -> str:
    """Return why the budget of a rerun allows no further live call; empty if it does."""
    budget = RerunBudget.model_validate(rerun.budget)
    now = datetime.now(UTC)
    if rerun.deadline_at is not None and now > rerun.deadline_at:
        return f"the budget's limit of time is {budget.deadline_s:g} s"
    if budget.max_live_calls is not None and rerun.live_calls >= budget.max_live_calls:
        return f"the budget's limit of live calls is {budget.max_live_calls}"
    if budget.max_cost_usd is None:
        return ""
    if rerun.cost_usd >= budget.max_cost_usd:
        return f"the budget's limit is ${budget.max_cost_usd:g}, and ${rerun.cost_usd:.4f} is spent"
    if price(provider, model, 1, 1, None, now) is None:
        return f"the budget's limit is ${budget.max_cost_usd:g}, and the price of {model or 'the model'} is not known"
    return ""


def values_of_fork(rerun: Rerun) -> Callable[[Kind, str, str], bool]:
    """Return a function that tells whether a new value is a part of the fork, and not volatile.

    An override contains it, or a model chose it, or code may have made it of what changed. A model chose a time or a
    duration in an answer that is not recorded: the agent did not take it from its clock. It chose an id there that it
    was not asked with. Ids of the answer itself and of its calls are the provider's.
    """
    profile = rerun.profile
    if profile is None:
        return nothing_is_meant

    @cache
    def overridden_values() -> frozenset[tuple[str, str]]:
        return frozenset(named_values(profile.profile))

    @cache
    def new_exchanges() -> Sequence[Exchange]:
        calls = rerun.calls.filter(_IS_NEW, attempt=rerun.attempt).exclude(exchange=None)
        return [Exchange(call) for call in calls]

    @cache
    def has_changed() -> bool:
        """Whether the agent has got an answer or a result that is not the recorded one."""
        calls = rerun.calls.filter(_IS_NEW, attempt=rerun.attempt)
        return calls.exists() or rerun.tool_calls.filter(_IS_NEW_RESULT, attempt=rerun.attempt).exists()

    @cache
    def generator() -> Generator:
        return _generator(rerun)

    def is_meant(kind: Kind, old: str, new: str) -> bool:
        is_chosen = any(
            new in exchange.answer_text and (kind not in ID_KINDS or new not in exchange.request_text)
            for exchange in (new_exchanges() if kind in ID_KINDS | CLOCK_KINDS | MEASURED_KINDS else ())
        )
        if is_chosen or is_among(kind, new, overridden_values()):
            return True
        if not has_changed() or generator().explains(kind, old, new):
            return False
        return kind not in ID_KINDS or not any(exchange.has_own_id(new) for exchange in new_exchanges())

    return is_meant


def _generator(rerun: Rerun) -> Generator:
    """Return what is known of the values that the agent of a rerun generates."""
    run, names = rerun.source_run, [(str(kind), str(old), str(new)) for kind, old, new in rerun.names]
    if run.started_at is None or run.ended_at is None:
        return Generator(names=names)
    clock_shift = rerun.created_at - run.ended_at, datetime.now(UTC) - run.started_at
    return Generator(names=names, clock_shift=clock_shift)


@dataclass(frozen=True)
class Exchange:
    """A stored call with its request and, from its end on, its answer."""

    call: RerunCall

    def lines(self) -> bytes:
        """The events of the call. They contain the conversation, and are not kept: a long rerun has thousands."""
        return decompress(self.call.exchange or b"")

    @property
    def key(self) -> str:
        """The key of the model step."""
        return as_text(self._request_event.get("step_id"))

    @property
    def request(self) -> RecordedRequest:
        payload = as_object(self._request_event.get("payload"))
        facts = as_text(payload.get("provider")), as_text(payload.get("model_id")), as_text(payload.get("api"))
        headers, input = as_object(payload.get(REQUEST_HEADERS)), as_object(model_request(payload))
        raw_response = as_object(self._answer.get(RAW_RESPONSE))
        return RecordedRequest(
            no=self.call.id,
            request=input,
            strict=strict_fields(*facts, headers, input),
            content_digest=as_text(raw_response.get("content")),
            lane=as_text(raw_response.get(LANE)),
        )

    @property
    def is_complete(self) -> bool:
        """Whether the outcome of the call is known."""
        return bool(self._answer)

    @property
    def has_answer(self) -> bool:
        """Whether the provider answered, with an error or in full."""
        return self._answer.get("status") == "success" or "http_status" in as_object(self._answer.get("attributes"))

    @property
    def response(self) -> RecordedResponse | None:
        """The answer as it came; None if it was redacted."""
        return read_response(self._answer)

    @cached_property
    def request_text(self) -> str:
        return orjson.dumps(self._request_event.get("payload")).decode()

    @cached_property
    def answer_text(self) -> str:
        """What the model wrote: the text of the answer, and the names and arguments of its tool calls."""
        payload = {**as_object(self._request_event.get("payload")), **self._answer}
        answer = ModelAnswer(model_answer(payload).output)
        calls = [(call.get("name"), call.get("arguments")) for call in answer.calls]
        return orjson.dumps([answer.text, calls]).decode()

    def has_own_id(self, value: str) -> bool:
        """Return whether the provider generated an id for the answer or one of its calls."""
        return value in self._whole_answer_text and value not in self.answer_text

    @cached_property
    def _whole_answer_text(self) -> str:
        return orjson.dumps(self._answer).decode()

    @property
    def cost_usd(self) -> Decimal | None:
        """What the call cost, estimated if the answer does not state its tokens; None without an answer or a price."""
        if not self._answer or "response" not in self._answer:
            return None
        question = as_object(self._request_event.get("payload"))
        usage = model_answer({**question, **self._answer}).usage
        tokens_in, tokens_out = usage.tokens_in, usage.tokens_out
        if tokens_in is None and tokens_out is None:
            sizes = (len(orjson.dumps(value)) for value in (question.get("request"), self._answer["response"]))
            tokens_in, tokens_out = (size // _BYTES_PER_TOKEN for size in sizes)
        provider, model = as_text(question.get("provider")), as_text(question.get("model_id"))
        return price(provider, model, tokens_in, tokens_out, usage.tokens_cached, self.call.at)

    @property
    def is_unpriced(self) -> bool:
        """Whether the provider answered, and what that cost is not known."""
        return "response" in self._answer and self.cost_usd is None

    @property
    def _answer(self) -> JSONObject:
        return next((as_object(event.get("payload")) for event in self._events("model_result")), {})

    @property
    def _request_event(self) -> JSONObject:
        return next(self._events("model_called"), {})

    def _events(self, type: str) -> Iterator[JSONObject]:
        events = (as_object(orjson.loads(line)) for line in self.lines().splitlines())
        return (event for event in events if event.get("event_type") == type)
