"""Calls of an agent that a provider with another protocol answers: both directions, whole answers only."""

import time
from typing import Final

import orjson

from cockpit.gateway import upstreams
from cockpit.gateway.answers import error_text, parse_json
from cockpit.gateway.events import Call, Outcome
from cockpit.gateway.refusals import Refusal
from cockpit.gateway.transport.answer import Answer, discard
from cockpit.gateway.transport.client import Client
from replay.live.providers import request_path, translation
from replay.live.providers.translation import CannotTranslate
from replay.live.providers.types import ModelCall, Protocol
from replay.reruns.core.built_responses import StepAnswer
from replay.reruns.requests.agent_requests import AgentRequest
from traces.core.json_access import as_object

_ERRORS: Final = 400
# What tells a client when, or whether, to repeat its request.
_RETRY_HEADERS: Final = frozenset({"retry-after", "x-should-retry"})
_VERSION: Final = ("anthropic-version", "2023-06-01")
_UNREADABLE: Final = 502


def _model_call(request: AgentRequest) -> ModelCall:
    return ModelCall(provider=request.provider, model=request.model, input=request.input)


async def exchange(
    client: Client, upstream: upstreams.Upstream, protocol: Protocol, call: Call, request: AgentRequest, answer: Answer
) -> str:
    """Ask a provider with another protocol, and give its answer in the agent's; return why none arrived."""
    try:
        body = translation.translate_request(request.body, _model_call(request), protocol)
    except CannotTranslate as problem:
        await _refuse(answer, call, _UNREADABLE, str(problem), {})
        return ""
    foreign_answer = Answer(discard, time.time())
    url = upstream.base_url + request_path(protocol, _model_call(request))
    headers = _headers(protocol, upstream.key)
    if error := await client.exchange("POST", url, headers, orjson.dumps(body), foreign_answer):
        return error
    await _give(answer, call, request, protocol, foreign_answer.outcome(""))
    return ""


def _headers(protocol: Protocol, key: str) -> list[tuple[str, str]]:
    plain = [(b"content-type", b"application/json"), (b"accept", b"application/json")]
    headers = upstreams.headers_for_other(plain, protocol, key)
    return [*headers, _VERSION] if protocol == "anthropic" else headers


async def _give(answer: Answer, call: Call, request: AgentRequest, protocol: Protocol, outcome: Outcome) -> None:
    if outcome.status >= _ERRORS:
        retry_headers = {name.lower(): value for name, value in outcome.headers if name.lower() in _RETRY_HEADERS}
        await _refuse(answer, call, outcome.status, _error(call.provider, outcome.body), retry_headers)
        return
    try:
        result = translation.read_answer(protocol, outcome.body)
    except CannotTranslate as problem:
        await _refuse(answer, call, _UNREADABLE, str(problem), {})
        return
    usage = result.usage
    step_answer = StepAnswer(
        output=as_object(result.output),
        model=result.model or request.model,
        id=call.id,
        tokens_in=usage.tokens_in or 0,
        tokens_out=usage.tokens_out or 0,
        tokens_cached=usage.tokens_cached or 0,
    )
    response = request.build_response(step_answer)
    if response is None:
        reason = "the provider's answer has content that the agent's protocol lacks"
        await _refuse(answer, call, _UNREADABLE, reason, {})
        return
    await answer.start(response.status, dict(response.headers))
    await answer.pass_on(response.body)
    await answer.end()


async def _refuse(answer: Answer, call: Call, status: int, reason: str, headers: dict[str, str]) -> None:
    refusal = Refusal(status=status, reason=reason)
    own_headers = {name.decode(): value.decode() for name, value in refusal.headers()}
    await answer.start(status, own_headers if not headers else {"content-type": "application/json", **headers})
    await answer.pass_on(refusal.body(call.protocol))
    await answer.end()


def _error(provider: str, body: bytes) -> str:
    try:
        text = error_text(parse_json(body))
    except ValueError:
        text = body[:1000].decode(errors="replace")
    return f"provider “{provider}” answered: {text}"
