"""Answers calls of an agent that runs again: from the recording of a run, or as the fork that it is demands."""

import asyncio
import sys
import time
from collections import OrderedDict
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final
from uuid import UUID

import orjson

from cockpit.gateway import events, upstreams
from cockpit.gateway.answers import UnreadableBody
from cockpit.gateway.events import Call, Outcome
from cockpit.gateway.refusals import Refusal
from cockpit.gateway.routes import operation_elsewhere, path_of_model
from cockpit.gateway.transport.asgi import respond
from cockpit.gateway.transport.database import connection
from cockpit.http.transfer.asgi import Send
from replay.reruns import answers, exchanges, queries, recordings, services, sources
from replay.reruns.requests.agent_requests import AgentRequest, UnreadableRequest
from replay.reruns.resolutions import CallRefusal, Resolution
from replay.reruns.tools import consents
from traces.core.json_access import as_text
from traces.core.json_types import JSONObject
from traces.errors import ProblemError

_PATIENCE_S: Final = 3.0
# A recorded pause may have been a minute of thinking.
_LONGEST_PAUSE_S: Final = 2.0
# An agent sees answers that arrive at once in any order.
_GAP_S: Final = 0.01
_MOST_RERUNS: Final = 100


class Turns:
    """Lets a rerun's calls that are open at the same time be answered in recorded order."""

    def __init__(self) -> None:
        # By the rerun and its start, because an agent that is started again makes its calls again.
        self._numbers_by_start: OrderedDict[tuple[str, float], set[int]] = OrderedDict()
        self._change = asyncio.Event()

    async def wait(self, call: Call, numbers: Iterable[int]) -> None:
        """Wait until these calls are answered. For a limited time: the agent may not make them."""
        answers = self._answer_numbers(call)
        absent_numbers = set(numbers) - answers
        if not absent_numbers:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE_S):
                while not absent_numbers <= answers:
                    await self._change.wait()
        # The next call does not wait for them again.
        answers |= absent_numbers
        await asyncio.sleep(_GAP_S)

    def note(self, call: Call, number: int | None) -> None:
        """Note that a call is answered."""
        if number is not None:
            self._answer_numbers(call).add(number)
            self._change.set()
            self._change = asyncio.Event()

    def _answer_numbers(self, call: Call) -> set[int]:
        numbers = self._numbers_by_start.setdefault((call.run_id, call.run_start), set())
        self._numbers_by_start.move_to_end((call.run_id, call.run_start))
        if len(self._numbers_by_start) > _MOST_RERUNS:
            self._numbers_by_start.popitem(last=False)
        return numbers


def resolve(call: Call, *, owner: str, limit: int) -> Resolution:
    """Decide how a call is answered; raise `Refusal` if nothing may answer it, and `CallInFlight`."""
    try:
        with connection():
            return answers.resolve(UUID(call.run_id), agent_request(call, limit), owner=owner, attempt=call.attempt)
    except ProblemError as problem:
        refusal = Refusal(status=400, reason=f"rerun {call.run_id}: {problem.detail}")
        if isinstance(problem, CallRefusal) and problem.call_id is not None:
            store_answered(call, refusal_outcome(refusal, call.protocol), problem.call_id, limit=limit)
        raise refusal from problem


def edited_call(call: Call, resolution: Resolution) -> Call:
    """Return the call with the overrides applied: what is sent to the provider."""
    if resolution.provider not in {"", call.provider}:
        call = _call_elsewhere(call, resolution.provider)
    body, operation = resolution.body, call.operation
    if body is None:
        return call
    model = as_text(body.get("model"))
    # Gemini and Azure have it in the address. A body that was read before has no size that is too large.
    if operation.model and model and model != events.request_body(call, limit=sys.maxsize).get("model"):
        operation = replace(operation, path=path_of_model(operation, model), model=model)
        body = {name: value for name, value in body.items() if name != "model"}
    return replace(call, body=orjson.dumps(body), operation=operation, encoding="")


def _call_elsewhere(call: Call, provider: str) -> Call:
    """Return a call of another provider. Its address has no settings of Azure, such as the version of its API."""
    operation = operation_elsewhere(call.operation)
    query = call.query if operation is call.operation else ""
    return replace(call, provider=provider, operation=operation, query=query)


def store_answered(call: Call, outcome: Outcome, call_id: int, *, limit: int, is_recorded: bool = False) -> None:
    """Store a call that is not made, with the outcome that the agent gets.

    One that `is_recorded` becomes the recorded step, so that its request, which repeats the conversation, is left out.
    """
    lines = events.start_lines(call, limit=limit, has_body=not is_recorded) + events.end_line(
        call, outcome, limit=limit
    )
    with connection():
        exchanges.store_answered(call_id, lines, app=sources.source_of(UUID(call.run_id)).app)


def is_recorded(call: Call) -> bool:
    """Return whether the recording of a rerun has the very bytes of a call."""
    with connection():
        recording = recordings.load(sources.source_of(UUID(call.run_id)).run_id)
    return call.digest in recording.calls.by_sent_digest


def recorded_models(rerun_id: str) -> list[str]:
    """Return the names of the models that the recording of a rerun used."""
    with connection():
        return queries.recorded_models(UUID(rerun_id))


def store_live(call: Call, outcome: Outcome | None, call_id: int, *, limit: int) -> None:
    """Store a call before it is made, or with its outcome before the agent gets it."""
    lines = events.start_lines(call, limit=limit)
    if outcome is not None:
        lines += events.end_line(call, outcome, limit=limit)
    with connection():
        exchanges.store_live(call_id, lines, app=sources.source_of(UUID(call.run_id)).app)


def check_answer(call: Call, outcome: Outcome, row: int, *, limit: int) -> Refusal | None:
    """Return why an answer must not reach the agent: it calls a tool that nobody allowed and nothing intercepts."""
    try:
        names = events.called_tools(call, outcome, limit=limit)
    except UnreadableBody as problem:
        with connection():
            return Refusal(status=400, reason=consents.refuse_unread(row, str(problem)))
    return check_tools(row, names)


def check_tools(row: int, names: Collection[str]) -> Refusal | None:
    """Return why an answer that calls these tools must not reach the agent; `row` is the call that it answers."""
    if not names:
        return None
    with connection():
        reason = consents.refuse_tools(row, names)
    return Refusal(status=400, reason=reason) if reason else None


def note_tools(rerun_id: str, attempt: int, names: Collection[str]) -> None:
    """Note which tools the agent asks about before they run; raise `Refusal`."""
    try:
        with connection():
            services.note_tools(UUID(rerun_id), names, attempt=attempt)
    except ProblemError as problem:
        raise Refusal(status=400, reason=problem.detail) from problem


def outcome_of(resolution: Resolution) -> Outcome | None:
    """Return the outcome that a stored response is; None for a live call."""
    response = resolution.response
    if response is None:
        return None
    return Outcome(
        end=time.time(),
        status=response.status,
        headers=tuple(response.headers),
        marks=response.marks,
        body=response.body,
        is_stream=response.is_stream,
        is_cut=response.is_cut,
    )


def refusal_outcome(refusal: Refusal, protocol: str) -> Outcome:
    headers = tuple((name.decode(), value.decode()) for name, value in refusal.headers())
    return Outcome(end=time.time(), status=refusal.status, headers=headers, body=refusal.body(protocol))


async def send(outcome: Outcome, send: Send, *, has_pauses: bool) -> None:
    """Send a stored answer: a stream in the pieces in which it came, and with the pauses between them if asked for.

    One that was cut off has no end here either, so that the connection is closed as the provider closed it.
    """
    headers = upstreams.answer_headers(outcome.headers)
    if not outcome.is_stream and not outcome.is_cut:
        await respond(send, outcome.status, headers, outcome.body)
        return
    await send({"type": "http.response.start", "status": outcome.status, "headers": headers})
    ends = [*(offset for offset, _ in outcome.marks[1:]), len(outcome.body)]
    previous_ms = start = 0
    for (_, at_ms), end in zip(outcome.marks or [(0, 0)], ends, strict=True):
        if has_pauses:
            await asyncio.sleep(min((at_ms - previous_ms) / 1000, _LONGEST_PAUSE_S))
        await send({"type": "http.response.body", "body": outcome.body[start:end], "more_body": True})
        previous_ms, start = at_ms, end
    if not outcome.is_cut:
        await send({"type": "http.response.body", "body": b""})


def agent_request(call: Call, limit: int) -> AgentRequest:
    """Return a call as the rerun compares and answers it."""
    return AgentRequest(
        provider=events.provider_name(call),
        api=call.operation.api,
        headers=dict(call.headers),
        read_body=partial(_read_body, call, limit),
        digest=call.digest,
        digest_content=lambda body: events.content_digest(call, body),
        lane=call.lane,
        address_model=call.operation.model,
        address_asks_for_events=call.asks_gemini_for_events,
    )


def _read_body(call: Call, limit: int) -> JSONObject:
    try:
        return events.request_body(call, limit=limit)
    except UnreadableBody as problem:
        raise UnreadableRequest(
            f"the body of this request cannot be read, so only a recorded call with its bytes answers it: {problem}"
        ) from problem
