"""Answers calls of an agent that runs again: from the recording of a run, or as the fork that it is demands."""

import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from uuid import UUID

import orjson
from django.db import close_old_connections

from cockpit.gateway import events
from cockpit.gateway.events import Call, Outcome
from cockpit.gateway.refusals import Refusal
from replay.models import Rerun
from replay.reruns import answers, exchanges
from replay.reruns.answers import AgentRequest, Resolution
from replay.reruns.recordings import REQUEST_HEADERS
from traces.core.json_access import as_object, as_text
from traces.errors import ProblemError
from traces.importers.formats.tracing.client_calls import model_request


def resolve(call: Call, *, in_flight: Collection[int], limit: int) -> Resolution:
    """Decide how a call is answered; raise `Refusal` if nothing may answer it, and `CallInFlight`."""
    if not call.operation.api:
        raise Refusal(
            status=400, reason=f"rerun {call.run_id}: {call.operation.path} is not recorded, so it is refused"
        )
    try:
        with _connection():
            return answers.resolve(UUID(call.run_id), _request(call, limit), in_flight=in_flight)
    except ProblemError as problem:
        raise Refusal(status=400, reason=f"rerun {call.run_id}: {problem.detail}") from problem


def edited_call(call: Call, resolution: Resolution) -> Call:
    """Return the call with the overrides applied: what is sent to the provider."""
    return replace(call, body=orjson.dumps(resolution.body), encoding="")


def store(call: Call, outcome: Outcome | None, call_id: int, *, limit: int) -> None:
    """Store a call before it is made, or with its outcome before the agent gets it."""
    lines = events.start_lines(call, limit=limit)
    if outcome is not None:
        lines += events.end_line(call, outcome, limit=limit)
    with _connection():
        app = Rerun.objects.values_list("source_run__app", flat=True).get(id=call.run_id)
        exchanges.store(call_id, lines, app=app)


def outcome_of(resolution: Resolution) -> Outcome | None:
    """Return the outcome that a stored response is; None for a live call."""
    response = resolution.response
    if response is None:
        return None
    return Outcome(
        end=time.time(),
        status=response.status,
        headers=tuple(response.headers),
        body=response.body,
        is_stream=response.is_stream,
    )


def _request(call: Call, limit: int) -> AgentRequest:
    payload = events.request_payload(call, limit=limit)
    body = as_object(payload["request"])
    return AgentRequest(
        body=body,
        input=as_object(model_request(payload)),
        provider=as_text(payload["provider"]),
        model=as_text(payload["model_id"]),
        headers=as_object(payload.get(REQUEST_HEADERS)),
        api=call.operation.api,
        is_streamed=body.get("stream") is True or "streamGenerate" in call.operation.path,
        states_usage=as_object(body.get("stream_options")).get("include_usage") is True,
    )


@contextmanager
def _connection() -> Iterator[None]:
    close_old_connections()
    try:
        yield
    finally:
        close_old_connections()
