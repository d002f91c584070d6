"""Answers of model calls in several recordings, and those that agents get live meanwhile.

Each recorded answer is given once, in recorded order. An equal call that another agent makes is awaited: made twice,
it would be paid twice, and two agents would go on from different answers to the same request.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db.models import Q

from replay.execution import leases
from replay.execution.observers import SharedRecordings
from replay.models import Rerun, RerunCall
from replay.reruns import recordings
from replay.reruns.core.matcher import Match, Matcher
from replay.reruns.core.recorded_calls import RecordedCalls
from replay.reruns.core.renaming import Renaming
from replay.reruns.core.volatile_values.volatile_tokens import Kind
from replay.reruns.exchanges import Exchange
from replay.reruns.recordings import RecordedResponse, Recording
from replay.reruns.requests.agent_requests import AgentRequest
from replay.reruns.shared_answers.recorded_steps import numbers_by_run, real_numbers
from traces.core.json_types import JSONObject
from traces.core.vocabulary import Reason, StepType

_ERRORS: Final = 400
# The detail of a call with the answer that another agent got live.
_SHARED_CALL: Final = "shared_call"


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedAnswer:
    """A response, and where it comes from. It is exact if no volatile value differs."""

    response: RecordedResponse
    detail: JSONObject
    is_exact: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class PendingCall:
    """The same call, whose answer another agent is waiting for."""

    call_id: int


@dataclass(frozen=True, kw_only=True)
class Question:
    """A call as recorded ones are compared with it.

    `comparable` returns its input and strict fields, for recordings with or without headers. `reduce` returns
    a request without the fields that the app ignores. `is_meant` is that of `Matcher`.
    """

    request: AgentRequest
    comparable: Callable[[bool], tuple[JSONObject, JSONObject]]
    reduce: Callable[[JSONObject], JSONObject]
    is_meant: Callable[[Kind, str, str], bool]


def find(rerun: Rerun, question: Question, sources: SharedRecordings) -> SharedAnswer | PendingCall | None:
    """Return the answer of the next equal call: of a recording, else of an agent that still runs."""
    # Before the runs: a session that ends in between is one of them.
    live_calls = _live_calls(rerun, sources.sessions)
    details = [*rerun.calls.filter(attempt=rerun.attempt).values_list("detail", flat=True)]
    used_numbers = numbers_by_run(details)
    for run_id in sources.load_runs():
        if answer := _recorded_answer(run_id, question, used_numbers[str(run_id)]):
            return answer
    used_calls = {detail.get(_SHARED_CALL) for detail in details}
    return _live_answer([call for call in live_calls if call.id not in used_calls], question)


def _recorded_answer(run_id: UUID, question: Question, used_numbers: set[int]) -> SharedAnswer | None:
    recording = recordings.load(run_id)
    numbers = real_numbers(run_id, StepType.MODEL, StepType.TOOL) - used_numbers
    names = Renaming()
    api = question.request.tool_api
    calls = [call for call in recording.calls.of_kind(api).requests if call.no in numbers]
    result = Matcher(
        calls=RecordedCalls(calls), renaming=names, reduce=question.reduce, is_meant=question.is_meant
    ).match(*question.comparable(recording.has_headers), question.request.content_digest)
    if not isinstance(result, Match) or result.has_other_content:
        return None
    if (response := _response(recording, result.call.no, question.request)) is None:
        return None
    place: JSONObject = {"matched": {"run": str(run_id), "step": result.call.no}}
    return _answer(response, names, result, place)


def _response(recording: Recording, no: int, request: AgentRequest) -> RecordedResponse | None:
    response = recordings.load_response(recording.run_id, no)
    if response is not None and response.status >= _ERRORS:
        return None
    if response is None or not request.reads(response):
        answer = recordings.load_answer(recording.run_id, no)
        return None if answer is None else request.build_response(answer)
    return response


def _live_calls(rerun: Rerun, sessions: Sequence[UUID]) -> Sequence[RerunCall]:
    """Return the live calls of agents that run, in the order in which they were made."""
    is_known = ~Q(exchange=None) | ~Q(owner="")
    calls = RerunCall.objects.filter(is_known, rerun__session__in=sessions, reason=Reason.LIVE_MODEL)
    return [*calls.exclude(rerun=rerun).order_by("id")]


def _live_answer(calls: Sequence[RerunCall], question: Question) -> SharedAnswer | PendingCall | None:
    for call in calls:
        is_waiting = call.owner != "" and not leases.is_dead(call.owner)
        if call.exchange is None:
            # Its request is stored in a moment, and only then comparable.
            if is_waiting:
                return PendingCall(call_id=call.id)
            continue
        exchange, names = Exchange(call), Renaming()
        matcher = Matcher(
            calls=RecordedCalls([exchange.request]), renaming=names, reduce=question.reduce, is_meant=question.is_meant
        )
        result = matcher.match(*question.comparable(True), question.request.content_digest)
        if not isinstance(result, Match) or result.has_other_content:
            continue
        if not exchange.is_complete:
            if is_waiting:
                return PendingCall(call_id=call.id)
            continue
        response = exchange.response
        if response is not None and response.status < _ERRORS and question.request.reads(response):
            return _answer(response, names, result, {_SHARED_CALL: call.id})
    return None


def _answer(response: RecordedResponse, names: Renaming, match: Match, place: JSONObject) -> SharedAnswer:
    renames: JSONObject = {} if match.is_exact else {"mapped": [[old, new] for _, old, new in match.renames]}
    return SharedAnswer(response=response.rename(names), detail={**place, **renames}, is_exact=match.is_exact)
