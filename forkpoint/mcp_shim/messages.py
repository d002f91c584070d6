"""Messages of MCP on standard streams. Pure."""

import json
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Final, TypeGuard

from forkpoint.vocabulary import SDK_MARK

Message = dict[str, Any]

HANDSHAKE: Final = "initialize"
READY: Final = "notifications/initialized"
PROGRESS: Final = "notifications/progress"
CANCELLATION: Final = "notifications/cancelled"
# JSON-RPC's code for errors of an implementation.
_SERVER_ERROR: Final = -32000
# What one message adds to its method and its parameters.
_META: Final = "_meta"
_TOKEN: Final = "progressToken"
# Of one request that are recorded.
_MOST_MESSAGES: Final = 1_000


@dataclass(frozen=True)
class OpenRequest:
    """A request that the server has not answered."""

    message: Message
    # As the client sent it, and the id of its step; None if it is not recorded here.
    call: tuple[Message, str] | None = None
    at: float = field(default_factory=monotonic)
    # What the server said meanwhile, as it is recorded.
    messages: list[Message] = field(default_factory=list)

    def hear(self, message: Message) -> Message | None:
        """Note what the server says, and return how it is recorded; None if it is not."""
        item = _to_record(message)
        if item is None or len(self.messages) >= _MOST_MESSAGES:
            return None
        self.messages.append(item)
        return item

    def is_meant(self, message: Message) -> bool:
        """Return whether what the server says may be about this request: only progress names one."""
        if message["method"] != PROGRESS:
            return True
        return bool((message.get("params") or {}).get(_TOKEN) == progress_token(self.message))


def _to_record(message: Message) -> Message | None:
    """Return a message of the server without what belongs to one request only; None for the rest."""
    parameters = message.get("params") or {}
    if is_request(message):
        rest = {name: value for name, value in parameters.items() if name != _META}
        return {"method": message["method"], "params": rest, "response": None}
    if message["method"] == CANCELLATION:
        return None
    rest = {name: value for name, value in parameters.items() if name not in (_META, _TOKEN)}
    return {"method": message["method"], "params": rest}


def is_question(item: Message) -> bool:
    """Return whether what the server said wants a response of the client."""
    return "response" in item


def response_content(message: Message) -> Message:
    """Return how a client responded: its result or its error, without what describes the message."""
    if "error" in message:
        return {"error": message["error"]}
    return {"result": {name: value for name, value in (message.get("result") or {}).items() if name != _META}}


def parse(line: bytes) -> Message | None:
    """Return a message; None for a line that is none, which no server should write."""
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None


def is_request(message: Message | None) -> TypeGuard[Message]:
    return message is not None and "method" in message and message.get("id") is not None


def progress_token(request: Message) -> Any:
    """Return the token of a client that wants to know the progress of its request; None if it does not."""
    return ((request.get("params") or {}).get(_META) or {}).get(_TOKEN)


def without_mark(request: Message) -> tuple[bool, Message]:
    """Return whether the SDK in the client takes care of a call, and the request without its mark."""
    parameters = request.get("params") or {}
    meta: Message = {**(parameters.get(_META) or {})}
    if not meta.pop(SDK_MARK, False):
        return False, request
    rest = {name: value for name, value in parameters.items() if name != _META}
    return True, {**request, "params": {**rest, **({_META: meta} if meta else {})}}


def error_response(request: Message, reason: str) -> Message:
    return {"jsonrpc": "2.0", "id": request["id"], "error": {"code": _SERVER_ERROR, "message": reason}}


def line_of(message: Message) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode() + b"\n"
