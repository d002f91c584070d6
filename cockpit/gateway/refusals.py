"""Answers of the gateway itself, in the format of the provider that the agent believes to talk to. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from traces.core.json_types import JSONObject

_NAMED_EVENTS: Final = frozenset({"anthropic.messages", "openai.responses"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal(Exception):
    """Why the gateway does not pass a request on. Clients repeat requests only if `may_retry`."""

    status: int
    reason: str
    may_retry: bool = False

    def headers(self) -> list[tuple[bytes, bytes]]:
        retry = b"true" if self.may_retry else b"false"
        return [(b"content-type", b"application/json"), (b"x-should-retry", retry)]

    def event(self, api: str, protocol: str) -> bytes:
        """Return the error as an event of a stream, with which it ends."""
        if protocol == "ollama":
            return self.body(protocol) + b"\n"
        name = b"event: error\n" if api in _NAMED_EVENTS else b""
        return name + b"data: " + self.body(protocol) + b"\n\n"

    def body(self, protocol: str) -> bytes:
        """Return the error as the clients of a provider read it."""
        message = f"Forkpoint's gateway: {self.reason}"
        if protocol == "ollama":
            return orjson.dumps({"error": message})
        error: JSONObject = {"type": "forkpoint_gateway_error", "message": message}
        if protocol == "anthropic":
            return orjson.dumps({"type": "error", "error": error})
        if protocol == "gemini":
            error = {"code": self.status, "message": message, "status": "FAILED_PRECONDITION"}
        else:
            error["code"] = self.status
        return orjson.dumps({"error": error})


def model_list(protocol: str, names: Sequence[str]) -> bytes:
    """Return the list of models in the format of a provider."""
    models = [_model(protocol, name) for name in names]
    if protocol in {"gemini", "ollama"}:
        return orjson.dumps({"models": models})
    return orjson.dumps({"object": "list", "data": models, "has_more": False})


def model_entry(protocol: str, name: str, names: Sequence[str]) -> bytes:
    """Return one of these models in the format of a provider; raise `Refusal`. Without names, any may exist."""
    if names and name not in names:
        raise Refusal(status=404, reason=f"the model “{name[:100]}” is not known; known are {', '.join(names)}")
    return orjson.dumps(_model(protocol, name))


def _model(protocol: str, name: str) -> JSONObject:
    if protocol == "gemini":
        return {"name": f"models/{name}"}
    if protocol == "ollama":
        return {"name": name, "model": name}
    return {"id": name, "object": "model", "type": "model"}
