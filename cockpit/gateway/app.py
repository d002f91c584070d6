"""The gateway as an ASGI application, without a framework: each request goes to its provider and is recorded.

An answer passes byte for byte as it arrives. If the agent hangs up, the answer is read to its end all the same: it is
paid for, and what it says is recorded. The journal does its work on a thread of its own.
"""

import asyncio
import functools
import importlib
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final
from uuid import uuid4

import structlog
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from cockpit.gateway import events, playback, sessions, upstreams
from cockpit.gateway.journal import Journal
from cockpit.gateway.refusals import Refusal, model_list
from cockpit.gateway.routes import PREFIX, PROVIDERS, Operation, Route, find_route
from replay.reruns.answers import CallInFlight, Resolution

Scope = dict[str, Any]
Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

log = structlog.get_logger("cockpit.gateway")
_CONNECT_S: Final = 10.0
# Without a byte from the provider. Models that reason may be silent for minutes.
_SILENCE_S: Final = 900.0
_SLOW_CLIENT_S: Final = 30.0
# From then on a call is shown while it lasts.
_LONG_CALL_S: Final = 1.0
# What an answer depends on besides its request.
_VERSION_HEADERS: Final = frozenset({b"anthropic-beta", b"anthropic-version", b"openai-beta"})
_JSON: Final = [(b"content-type", b"application/json")]


class Gateway:
    """Serves the addresses of the gateway; `application` serves all others."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._journal = Journal()
        self._live_calls: dict[int, asyncio.Task[events.Outcome]] = {}
        self._client: Any = None
        self._upstreams: dict[str, upstreams.Upstream] = {}
        self._turns = playback.Turns()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not scope.get("path", "").startswith(PREFIX):
            await self._application(scope, receive, send)
        elif scope["type"] == "websocket":
            # At once, before it is accepted: clients then fall back to HTTP.
            await send({"type": "websocket.close"})
        else:
            await self._serve(scope, receive, send)

    async def close(self) -> None:
        """Close the connections to providers, and store what is not stored."""
        if self._client is not None:
            await self._client.close()
            self._client = None
        await asyncio.to_thread(self._journal.flush)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = find_route(scope["path"])
        try:
            if route is None:
                raise Refusal(
                    status=404,
                    reason=f"the address has the form {PREFIX}SESSION/PROVIDER, where PROVIDER "
                    f"is one of {', '.join(PROVIDERS)}",
                )
            session = _session(route)
            if scope["method"] == "HEAD":
                await _respond(send, 200, _JSON, b"")
            elif scope["method"] == "GET" and route.lists_models:
                await _respond(send, 200, _JSON, model_list(route.provider, self._upstream(route.provider).models))
            elif scope["method"] == "POST" and route.operation is not None:
                request = _Request(scope, route, session, route.operation)
                await (self._play if session.is_rerun else self._forward)(request, receive, send)
            else:
                raise Refusal(status=404, reason=f"there is no endpoint {scope['method']} “{scope['path'][-200:]}”")
        except Refusal as refusal:
            await _respond(send, refusal.status, refusal.headers(), refusal.body(route.provider if route else ""))

    async def _play(self, request: "_Request", receive: Receive, send: Send) -> None:
        """Answer a request from a recording, or live where a fork allows it."""
        call = request.call(await _read_body(receive), time.time())
        resolution = await self._resolve(call)
        try:
            outcome = await self._outcome(request, call, resolution)
            if not outcome.status or outcome.error:
                raise _no_answer(outcome.error)
            await self._turns.wait(call, resolution.earlier_answers)
            await _respond(send, outcome.status, upstreams.answer_headers(outcome.headers), outcome.body)
        finally:
            self._turns.note(call, resolution.no)

    async def _outcome(self, request: "_Request", call: events.Call, resolution: Resolution) -> events.Outcome:
        """Return what a call of a rerun gets. What a fork gets is stored first."""
        if resolution.call_id is not None:
            call = playback.edited_call(call, resolution)
        outcome = playback.outcome_of(resolution)
        if outcome is None:
            return await self._live_outcome(request, call, resolution.call_id)
        if resolution.call_id is not None:
            await asyncio.to_thread(playback.store, call, outcome, resolution.call_id, limit=settings.MAX_BODY_BYTES)
        return outcome

    async def _resolve(self, call: events.Call) -> Resolution:
        """Decide how a call is answered. The live call of an agent that was killed meanwhile is awaited."""
        while True:
            calls = frozenset(self._live_calls)
            try:
                return await asyncio.to_thread(playback.resolve, call, in_flight=calls, limit=settings.MAX_BODY_BYTES)
            except CallInFlight as wait:
                if task := self._live_calls.get(wait.call_id):
                    await asyncio.wait([task])

    async def _live_outcome(self, request: "_Request", call: events.Call, call_id: int | None) -> events.Outcome:
        """Return the outcome of a live call, which goes on if the agent hangs up."""
        if call_id is None:
            raise RuntimeError("a live call without a row")
        task = asyncio.create_task(self._ask(request, call, call_id))
        self._live_calls[call_id] = task
        task.add_done_callback(lambda _: self._live_calls.pop(call_id, None))
        return await asyncio.shield(task)

    async def _ask(self, request: "_Request", call: events.Call, call_id: int) -> events.Outcome:
        """Send a call to its provider and read the whole answer. Both are stored before the agent gets it."""
        limit = settings.MAX_BODY_BYTES
        await asyncio.to_thread(playback.store, call, None, call_id, limit=limit)
        answer = _Answer(_discard, call.start)
        error = await self._exchange(request, call.body, answer)
        outcome = answer.outcome(error)
        await asyncio.to_thread(playback.store, call, outcome, call_id, limit=limit)
        return outcome

    async def _forward(self, request: "_Request", receive: Receive, send: Send) -> None:
        """Send a request to its provider, pass the answer on, and record both."""
        start = time.time()
        call = request.call(await _read_body(receive), start)
        entry = _Entry(self._journal, call)
        answer = _Answer(send, start)
        error = ""
        try:
            error = await self._exchange(request, call.body, answer)
            if error:
                await answer.fail(_no_answer(error), request.route.provider)
        finally:
            outcome = answer.outcome(error or ("" if answer.is_complete else "the server stopped during the call"))
            entry.finish(outcome)

    async def _exchange(self, request: "_Request", body: bytes, answer: "_Answer") -> str:
        """Pass a body to the provider and its answer on; return why the answer did not arrive, or not all of it."""
        upstream = self._upstream(request.route.provider)
        try:
            async with self._provider().post(
                request.url(upstream.base_url),
                data=body,
                headers=upstreams.request_headers(request.scope["headers"], upstream.key),
                allow_redirects=False,
            ) as response:
                await answer.start(response.status, response.headers)
                async for piece in response.content.iter_any():
                    await answer.pass_on(piece)
            await answer.end()
        except (OSError, TimeoutError, _aiohttp().ClientError) as problem:
            error = f"{type(problem).__name__}: {problem}".strip(": ")
            log.warning("gateway_upstream_failed", provider=request.route.provider, error=error)
            return error
        return ""

    def _upstream(self, provider: str) -> upstreams.Upstream:
        """Return where the calls of a provider go. The configuration does not change while the server runs."""
        if provider not in self._upstreams:
            try:
                self._upstreams[provider] = upstreams.find(provider)
            except ImproperlyConfigured as error:
                raise Refusal(status=400, reason=str(error)) from error
        return self._upstreams[provider]

    def _provider(self) -> Any:
        """Return the client of all providers. Its connections belong to the loop that serves."""
        if self._client is None:
            aiohttp = _aiohttp()
            self._client = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(total=None, connect=_CONNECT_S, sock_read=_SILENCE_S),
                auto_decompress=False,
                # Cookies of one agent must not reach another's calls.
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("user-agent", "content-type", "accept"),
            )
        return self._client


class _Entry:
    """What the journal gets of one call: a long call's request while it lasts, else both at its end.

    Storing competes with the loop for the interpreter, and so would delay the call's own answer.
    """

    def __init__(self, journal: Journal, call: events.Call) -> None:
        self._journal = journal
        self._call = call
        self._timer: asyncio.TimerHandle | None = asyncio.get_running_loop().call_later(_LONG_CALL_S, self._start)

    def finish(self, outcome: events.Outcome) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._start()
        self._add(functools.partial(events.end_line, self._call, outcome, limit=settings.MAX_BODY_BYTES))

    def _start(self) -> None:
        self._timer = None
        self._add(functools.partial(events.start_lines, self._call, limit=settings.MAX_BODY_BYTES))

    def _add(self, lines: Callable[[], bytes]) -> None:
        if self._call.operation.api:
            self._journal.add(lines)


class _Request:
    """A request that is sent on: its scope, route, session and operation."""

    def __init__(self, scope: Scope, route: Route, session: sessions.Session, operation: Operation) -> None:
        self.scope = scope
        self.route = route
        self.session = session
        self._operation = operation

    def url(self, base_url: str) -> str:
        query = self.scope["query_string"].decode("latin-1")
        return base_url + self._operation.path + (f"?{query}" if query else "")

    def call(self, body: bytes, start: float) -> events.Call:
        headers = dict(self.scope["headers"])
        return events.Call(
            run_id=self.session.run_id,
            id=uuid4().hex,
            provider=self.route.provider,
            operation=self._operation,
            run_start=self.session.start,
            start=start,
            body=body,
            query=self.scope["query_string"].decode("latin-1"),
            encoding=headers.get(b"content-encoding", b"").decode("latin-1").lower(),
            headers=tuple(
                (name.decode(), value.decode("latin-1"))
                for name, value in sorted(headers.items())
                if name in _VERSION_HEADERS
            ),
        )


class _Answer:
    """An answer on its way to the agent, and what has arrived of it."""

    def __init__(self, send: Send, request_time: float) -> None:
        self.is_complete = False
        self._send = send
        self._request_time = request_time
        self._pieces: list[bytes] = []
        self._size = 0
        self._marks: list[tuple[int, int]] = []
        self._headers: tuple[tuple[str, str], ...] = ()
        self._status = 0
        self._type = ""
        self._encoding = ""
        self._client_is_gone = False

    async def start(self, status: int, headers: Any) -> None:
        self._status, self._headers = status, tuple(headers.items())
        self._type, self._encoding = headers.get("content-type", ""), headers.get("content-encoding", "").lower()
        passed_headers = upstreams.answer_headers(headers.items())
        await self._deliver({"type": "http.response.start", "status": status, "headers": passed_headers})

    async def pass_on(self, piece: bytes) -> None:
        self._marks.append((self._size, int((time.time() - self._request_time) * 1000)))
        self._pieces.append(piece)
        self._size += len(piece)
        await self._deliver({"type": "http.response.body", "body": piece, "more_body": True})

    async def end(self) -> None:
        self.is_complete = True
        await self._deliver({"type": "http.response.body", "body": b""})

    async def fail(self, refusal: Refusal, provider: str) -> None:
        """Refuse if nothing was passed on. Else the connection is closed before the end, as the provider did."""
        if not self._status:
            await _respond(self._send, refusal.status, refusal.headers(), refusal.body(provider))

    def outcome(self, error: str) -> events.Outcome:
        return events.Outcome(
            end=time.time(),
            status=self._status,
            headers=self._headers,
            marks=self._marks,
            body=b"".join(self._pieces),
            encoding=self._encoding,
            is_stream=self._type.startswith("text/event-stream"),
            error=error,
        )

    async def _deliver(self, message: Message) -> None:
        """Send to the agent, unless it is gone or has stopped reading."""
        if self._client_is_gone:
            return
        try:
            async with asyncio.timeout(_SLOW_CLIENT_S):
                await self._send(message)
        except (OSError, TimeoutError):
            self._client_is_gone = True


async def _discard(_: Message) -> None:
    """Send nothing: the agent gets the answer when it is stored."""


def _no_answer(error: str) -> Refusal:
    return Refusal(status=502, reason=f"the provider did not answer: {error}", may_retry=True)


def _session(route: Route) -> sessions.Session:
    try:
        return sessions.read(route.session)
    except sessions.UnknownSession as error:
        raise Refusal(
            status=401, reason="this session is unknown or has expired; `forkpoint record` opens a new one"
        ) from error


async def _read_body(receive: Receive) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refusal(status=400, reason="the request ended before its body did")
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > settings.MAX_BODY_BYTES:
            raise Refusal(status=413, reason=f"the request is larger than {settings.MAX_BODY_BYTES} bytes")
        if not message.get("more_body"):
            return b"".join(pieces)


async def _respond(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    """Send a whole response. The length that a provider stated is that of its own framing."""
    own_headers = [(name, value) for name, value in headers if name != b"content-length"]
    length = [(b"content-length", str(len(body)).encode())] if body else []
    await send({"type": "http.response.start", "status": status, "headers": [*own_headers, *length]})
    await send({"type": "http.response.body", "body": body})


def _aiohttp() -> Any:
    """Import the client library when the first agent calls: it takes as long as many commands."""
    return importlib.import_module("aiohttp")
