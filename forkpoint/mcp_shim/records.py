"""What of an MCP dialogue is recorded: what a server says during a request, and what its client responds. Pure.

The gateway and the shim record alike, so that either plays back what the other has recorded. A message may be
malformed: what should be an object and is none counts as an empty one.
"""

from typing import Any, Final, TypeGuard

from forkpoint.vocabulary import SDK_MARK

Message = dict[str, Any]

PROGRESS: Final = "notifications/progress"
CANCELLATION: Final = "notifications/cancelled"
# Of one request: what a server says beyond is passed on, and not recorded.
MOST_MESSAGES: Final = 1_000
# Of a recorded request to the client: how it responded.
RESPONSE: Final = "response"
PARAMETERS: Final = "params"
TOKEN: Final = "progressToken"
# What one message adds to its method and its parameters.
META: Final = "_meta"
_NOTIFICATION: Final = "notifications/"


def is_request(message: Message | None) -> TypeGuard[Message]:
    """Return whether a message wants a response: it is no notification, and no response itself."""
    return message is not None and "method" in message and message.get("id") is not None


def is_id(value: object) -> TypeGuard[str | float]:
    """Return whether a value can be the id of a message."""
    return isinstance(value, str | int | float)


def cancelled_id(message: Message) -> Any:
    """Return the id of the request that a notification cancels; None if it is about something else."""
    return _object(message.get(PARAMETERS)).get("requestId") if message.get("method") == CANCELLATION else None


def to_record(message: Message) -> Message | None:
    """Return what a server says as it is recorded: without what belongs to one request only; None for the rest."""
    method = str(message.get("method", ""))
    if is_request(message):
        return {"method": method, PARAMETERS: _parameters(message, META), RESPONSE: None}
    if method.startswith(_NOTIFICATION) and method != CANCELLATION:
        return {"method": method, PARAMETERS: _parameters(message, META, TOKEN)}
    return None


def is_question(item: Message) -> bool:
    """Return whether what a server said wants a response of its client."""
    return RESPONSE in item


def is_about(message: Message, request: Message) -> bool:
    """Return whether what a server says may be about a request: only progress names one."""
    is_progress = message.get("method") == PROGRESS
    return not is_progress or _object(message.get(PARAMETERS)).get(TOKEN) == progress_token(request)


def response_content(message: Message) -> Message:
    """Return how a client responded: its result or its error, without what describes the message."""
    if "error" in message:
        return {"error": message["error"]}
    return {"result": {name: value for name, value in _object(message.get("result")).items() if name != META}}


def progress_token(request: Message) -> Any:
    """Return the token of a client that wants to know the progress of its request; None if it does not."""
    return _meta(request).get(TOKEN)


def has_sdk_mark(request: Message) -> bool:
    """Return whether the SDK in the agent takes care of a call."""
    return bool(_meta(request).get(SDK_MARK))


def without_sdk_mark(request: Message) -> Message:
    """Return a request as the client would have sent it without the SDK."""
    if not has_sdk_mark(request):
        return request
    meta = {name: value for name, value in _meta(request).items() if name != SDK_MARK}
    return {**request, PARAMETERS: {**_parameters(request, META), **({META: meta} if meta else {})}}


def _meta(request: Message) -> Message:
    return _object(_object(request.get(PARAMETERS)).get(META))


def _parameters(message: Message, *left_out: str) -> Message:
    return {name: value for name, value in _object(message.get(PARAMETERS)).items() if name not in left_out}


def _object(value: Any) -> Message:
    return value if isinstance(value, dict) else {}
