"""What an MCP server says to its client during a call: recorded, and said again where the call is answered.

Progress is noted where the client gets it: by the callback of the call that it is about. The two generations of the
library take everything else by functions of other names.
"""

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

from forkpoint.answers import Answer
from forkpoint.capture.patching import wrap
from forkpoint.recorder import recorder
from forkpoint.scopes import StepScope
from forkpoint.vocabulary import MCP_MESSAGES

_PROGRESS = "notifications/progress"
_CANCELLATION = "notifications/cancelled"
_META = "_meta"
_MOST_MESSAGES = 1_000
# The steps of the open calls of each session.
_OPEN: WeakKeyDictionary[Any, list[StepScope]] = WeakKeyDictionary()
# The step in which each session was opened: its messages arrive there.
_PLACES: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_is_playing: ContextVar[bool] = ContextVar("forkpoint_mcp_dialogue", default=False)


def patch(session: Any) -> None:
    """Note what servers say in all sessions of a class."""
    if hasattr(session, "_on_request"):
        wrap(session, "_on_request", _note_request)
        wrap(session, "_on_notify", _note_notification)
    else:
        wrap(session, "_received_request", _note_request_1)
        wrap(session, "_received_notification", _note_notification_1)


def note_place(session: Any) -> None:
    """Note where a session is opened."""
    with suppress(TypeError):
        _PLACES[session] = recorder.current.get()


@contextmanager
def open_call(session: Any) -> Iterator[StepScope | None]:
    """Note what the server says meanwhile with the current step."""
    step = recorder.current.get()
    if not isinstance(step, StepScope):
        yield None
        return
    steps = _OPEN.setdefault(session, [])
    steps.append(step)
    try:
        yield step
    finally:
        steps.remove(step)


def note_progress(step: StepScope, callback: Callable[..., Any]) -> Callable[..., Any]:
    """Return a callback that also notes the progress."""

    async def note(progress: float, total: float | None = None, message: str | None = None) -> None:
        values = {"progress": progress, "total": total, "message": message}
        _append(step, {"method": _PROGRESS, "params": {k: value for k, value in values.items() if value is not None}})
        await callback(progress, total, message)

    return note


async def play(session: Any, callback: Callable[..., Any] | None, answer: Answer) -> bool:
    """Say what the server said when the call was recorded, and return whether the recorded outcome follows.

    If not, the client has responded otherwise than it did then, and the call is to be made.
    """
    client_answers: list[dict[str, Any]] = []
    for item in answer.messages:
        if "response" in item:
            with _playing(session):
                client_answers.append(await _ask(session, item))
            if not await _check(answer, client_answers):
                return False
        elif item["method"] != _PROGRESS:
            with _playing(session):
                await _notify(session, item)
        elif callback is not None:
            # As in the library, what fails here is no concern of the call.
            with suppress(Exception):
                await callback(*_progress(item["params"]))
    return True


def _progress(values: dict[str, Any]) -> tuple[float, float | None, str | None]:
    """Return what the library tells of progress: numbers that were whole are stored as integers."""
    total = values.get("total")
    return float(values["progress"]), None if total is None else float(total), values.get("message")


@contextmanager
def _playing(session: Any) -> Iterator[None]:
    tokens = _is_playing.set(True), recorder.current.set(_PLACES.get(session))
    try:
        yield
    finally:
        recorder.current.reset(tokens[1])
        _is_playing.reset(tokens[0])


async def _check(answer: Answer, client_answers: list[dict[str, Any]]) -> bool:
    """Ask the rerun without blocking the event loop of asyncio."""
    asyncio = importlib.import_module("asyncio")
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return answer.check(client_answers)
    return bool(await loop.run_in_executor(None, answer.check, client_answers))


def _note_request(original: Callable[..., Any]) -> Callable[..., Any]:
    async def on_request(session: Any, context: Any, method: str, params: Any) -> Any:
        item = _note(session, method, params, is_question=True)
        try:
            result = await original(session, context, method, params)
        except Exception as error:
            if item is not None:
                item["response"] = _error_content(error)
            raise
        if item is not None:
            item["response"] = {"result": _without_meta(result)}
        return result

    return on_request


def _note_notification(original: Callable[..., Any]) -> Callable[..., Any]:
    async def on_notify(session: Any, context: Any, method: str, params: Any) -> Any:
        _note(session, method, params)
        return await original(session, context, method, params)

    return on_notify


def _note_request_1(original: Callable[..., Any]) -> Callable[..., Any]:
    async def received_request(session: Any, responder: Any) -> Any:
        request = _json(responder.request)
        item = _note(session, request.get("method", ""), request.get("params"), is_question=True)
        if item is not None:
            _watch(responder, item)
        return await original(session, responder)

    return received_request


def _note_notification_1(original: Callable[..., Any]) -> Callable[..., Any]:
    async def received_notification(session: Any, notification: Any) -> Any:
        message = _json(notification)
        _note(session, message.get("method", ""), message.get("params"))
        return await original(session, notification)

    return received_notification


def _watch(responder: Any, item: dict[str, Any]) -> None:
    """Note how the client responds to a request."""
    respond = responder.respond

    async def note(response: Any) -> None:
        item["response"] = _content(response)
        await respond(response)

    responder.respond = note


def _note(session: Any, method: str, params: Any, *, is_question: bool = False) -> dict[str, Any] | None:
    """Note a message with the latest call that is open; return it as it is recorded."""
    steps = _OPEN.get(session)
    if not steps or _is_playing.get() or method in (_PROGRESS, _CANCELLATION):
        return None
    item: dict[str, Any] = {"method": method, "params": _without_meta(params or {})}
    if is_question:
        item["response"] = None
    return item if _append(steps[-1], item) else None


def _append(step: StepScope, item: dict[str, Any]) -> bool:
    messages = step.attributes.setdefault(MCP_MESSAGES, [])
    if len(messages) >= _MOST_MESSAGES:
        return False
    messages.append(item)
    return True


async def _ask(session: Any, item: dict[str, Any]) -> dict[str, Any]:
    """Let the client respond to a request."""
    if not hasattr(session, "_on_request"):
        return await _ask_1(session, item)
    try:
        result = await session._on_request(SimpleNamespace(request_id="forkpoint"), item["method"], item["params"])
    except Exception as error:  # noqa: BLE001 - the library responds with it
        return _error_content(error)
    return {"result": _without_meta(result)}


async def _ask_1(session: Any, item: dict[str, Any]) -> dict[str, Any]:
    module: Any = importlib.import_module("mcp.shared.session")
    message = {"method": item["method"], "params": item["params"]}
    responder = module.RequestResponder(
        request_id="forkpoint",
        request_meta=None,
        request=session._receive_request_type.model_validate(message),
        session=session,
        on_complete=lambda _: None,
    )
    contents: list[dict[str, Any]] = []

    async def respond(response: Any) -> None:
        contents.append(_content(response))
        responder._completed = True

    responder.respond = respond
    await session._received_request(responder)
    if not contents:
        await session._handle_incoming(responder)
    return contents[0] if contents else {"error": {"message": "the client did not respond"}}


async def _notify(session: Any, item: dict[str, Any]) -> None:
    if hasattr(session, "_on_notify"):
        await session._on_notify(SimpleNamespace(request_id=None), item["method"], item["params"])
        return
    notification = session._receive_notification_type.model_validate(item)
    await session._received_notification(notification)
    await session._handle_incoming(notification)


def _content(response: Any) -> dict[str, Any]:
    """Return how a client responds: an error has a code."""
    content = _json(response)
    return {"error": content} if hasattr(response, "code") else {"result": _without_meta(content)}


def _error_content(error: Exception) -> dict[str, Any]:
    data = getattr(error, "error", None)
    return {"error": {"message": str(error)} if data is None else _json(data)}


def _json(model: Any) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def _without_meta(values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name != _META}
