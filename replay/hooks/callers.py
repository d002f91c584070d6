"""Callers of hooks: a Python callable of an installed package, an HTTP endpoint, or a fixed answer."""

import os
from typing import Final

import httpx2

from replay.hooks import configuration
from replay.hooks.configuration import HookEntry, HttpPlace
from replay.hooks.registry import Ask, Hook, HookFailure, Registry
from replay.live import egress
from traces.core.canonical import NotCanonical, digest
from traces.core.json_types import JSONObject, JSONValue

HEADER: Final = "Forkpoint-Replay"
_CONNECT_S: Final = 3.0
_MOST_BYTES: Final = 1024 * 1024


def registry() -> Registry:
    """Return the configured hooks, which are loaded or contacted at their first call."""
    return Registry(
        hooks=tuple(
            Hook(name=name, ask=_ask(entry), events=frozenset(entry.events), matcher=entry.matcher, gate=entry.gate)
            for name, entry in configuration.hooks().items()
        )
    )


def _ask(entry: HookEntry) -> Ask:
    if entry.http is not None:
        http = entry.http
        return lambda envelope: _call_http(http, envelope, entry.timeout_s)
    if entry.python is not None:
        return lambda envelope: _call_python(entry, envelope)
    answer: JSONValue = entry.answer.model_dump(mode="json") if entry.answer is not None else None
    return lambda envelope: answer


def _call_python(entry: HookEntry, envelope: JSONObject) -> JSONValue:
    """Call a Python hook with the envelope, and with its settings as keyword arguments."""
    try:
        answer: JSONValue = configuration.callables()[entry.python or ""].load()(envelope, **entry.settings)
    except Exception as error:
        # Whatever the operator's code raises, the replay continues without it.
        raise HookFailure(f"{type(error).__name__}: {error}") from error
    return _storable(answer)


def _call_http(http: HttpPlace, envelope: JSONObject, timeout_s: float) -> JSONValue:
    """Post the envelope to the endpoint; an empty answer lets the event pass."""
    if missing := configuration.missing_secrets(http.headers_env):
        raise HookFailure(f"the environment variable {missing[0]} is not set")
    destination = egress.Destination(host=http.host, operator=True)
    try:
        with (
            egress.read_limits(lambda: None, max_bytes=2 * _MOST_BYTES, max_s=timeout_s),
            egress.client([destination], connect_s=min(_CONNECT_S, timeout_s), read_s=timeout_s) as client,
        ):
            response = client.post(str(http.url), json=envelope, headers=headers(http, envelope))
    except (httpx2.HTTPError, egress.EgressRefusal, egress.EndlessAnswer) as error:
        raise HookFailure(f"{http.host} could not be reached: {error or type(error).__name__}") from error
    if not response.is_success:
        raise HookFailure(f"{http.host} answered {response.status_code}")
    if len(response.content) > _MOST_BYTES:
        raise HookFailure(f"{http.host} answered with more than {_MOST_BYTES // 1024} KiB")
    return _json(http, response)


def headers(http: HttpPlace, envelope: JSONObject) -> dict[str, str]:
    secrets = {name: os.environ[variable] for name, variable in http.headers_env.items()}
    return {**http.headers, **secrets, HEADER: str(envelope.get("session_id") or "")}


def _json(http: HttpPlace, response: httpx2.Response) -> JSONValue:
    if not response.content.strip():
        return None
    try:
        answer: JSONValue = response.json()
    except ValueError as error:
        raise HookFailure(f"{http.host} answered with something that is not JSON") from error
    return _storable(answer)


def _storable(answer: JSONValue) -> JSONValue:
    try:
        digest(answer)
    except NotCanonical as error:
        raise HookFailure(f"its answer is not JSON: {error}") from error
    return answer
