"""The gateway as an ASGI application, without a framework: each request goes to its provider and is recorded.

An answer passes byte for byte as it arrives. If the agent hangs up, the answer is read to its end all the same: it is
paid for, and what it says is recorded. The journal does its work on a thread of its own.
"""

import asyncio
import functools
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final
from uuid import uuid4

import orjson
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from cockpit.gateway import answers, events, playback, translation, upstreams
from cockpit.gateway.live_calls import LiveCalls
from cockpit.gateway.mcp.proxy import Proxy
from cockpit.gateway.refusals import Refusal, model_entry, model_list
from cockpit.gateway.routes import (
    PREFIX,
    PROVIDERS,
    Operation,
    Route,
    find_mcp_route,
    find_route,
    is_tools_address,
    protocol_of,
    served_paths,
    session_of,
)
from cockpit.gateway.transport.answer import Answer
from cockpit.gateway.transport.asgi import JSON, read_body, respond
from cockpit.gateway.transport.client import Client
from cockpit.gateway.transport.delivery import Delivery
from cockpit.gateway.transport.journal import Journal
from cockpit.http import gateway_sessions as sessions
from cockpit.http.transfer.asgi import Application, Receive, Scope, Send
from forkpoint.gateway_run import LANE_HEADER, STEP_HEADER
from replay.live.providers.configuration import configured_providers
from replay.live.providers.protocols import foreign_protocol
from replay.live.providers.types import Protocol
from replay.reruns.resolutions import CallInFlight, Resolution
from traces.core.json_access import as_list, as_object, as_text
from traces.redaction_policies.key import redaction_key

# From then on a call is shown while it lasts.
_LONG_CALL_S: Final = 1.0


class Gateway:
    """Serves the addresses of the gateway; `application` serves all others."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._journal = Journal()
        self._live_calls = LiveCalls()
        self._client = Client()
        self._upstreams: dict[str, upstreams.Upstream] = {}
        self._turns = playback.Turns()
        self._mcp = Proxy(self._client, self._journal)

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
        await self._mcp.close()
        await self._client.close()
        await asyncio.to_thread(self._journal.flush)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = None
        try:
            # First: an address without a session learns nothing of the server.
            session = _session(session_of(scope["path"]))
            if mcp_route := find_mcp_route(scope["path"]):
                await self._mcp.serve(scope, receive, send, session, mcp_route)
                return
            if is_tools_address(scope["path"]):
                await self._note_tools(session, await read_body(receive))
                await respond(send, 200, JSON, b"{}")
                return
            route = find_route(scope["path"], self._configured_protocol)
            if route is None:
                raise Refusal(
                    status=404,
                    reason=f"the address has the form {PREFIX}SESSION/PROVIDER, where PROVIDER is one of "
                    f"{', '.join(PROVIDERS)}, a provider that this server is configured with, or mcp/NAME",
                )
            if scope["method"] == "HEAD":
                await respond(send, 200, JSON, b"")
            elif scope["method"] == "GET" and route.lists_models and route.operation is not None:
                await self._serve_models(_Request(scope, route, session, route.operation), send)
            elif route.operation is not None and scope["method"] == ("GET" if route.operation.is_read else "POST"):
                request = _Request(scope, route, session, route.operation)
                body = request.question if route.operation.is_read else await read_body(receive)
                call = request.call(body, time.time())
                await (self._play if session.is_rerun else self._forward)(request, call, send)
            else:
                reason = (
                    f"there is no endpoint {scope['method']} “{route.path[:200]}”; for {route.provider}, there are "
                )
                raise Refusal(status=404, reason=reason + ", ".join(served_paths(route.protocol)))
        except Refusal as refusal:
            # Without closing the connection, the rest of a refused body would have to be read.
            await respond(
                send,
                refusal.status,
                [*refusal.headers(), (b"connection", b"close")],
                refusal.body(route.protocol if route else protocol_of(scope["path"])),
            )

    async def _note_tools(self, session: sessions.Session, body: bytes) -> None:
        """Note the names of tools that the SDK in the agent of a rerun knows."""
        try:
            names = [as_text(name) for name in as_list(as_object(answers.read_json(body)).get("names"))]
        except answers.UnreadableBody as problem:
            raise Refusal(status=400, reason=f"the body cannot be read: {problem}") from problem
        if session.is_rerun:
            await asyncio.to_thread(playback.note_tools, session.run_id, session.attempt, names)

    async def _serve_models(self, request: "_Request", send: Send) -> None:
        """List models: those of the configuration or of the provider, and in a rerun what the recording has."""
        route, session = request.route, request.session
        call = request.call(request.question, time.time())
        if session.is_rerun and await asyncio.to_thread(playback.is_recorded, call):
            await self._play(request, call, send)
        elif session.is_rerun:
            await respond(send, 200, JSON, await self._models(route, session))
        elif self._upstream(route.provider).models:
            models = await self._models(route, session)
            await self._record(call, send, lambda answer: _give(answer, models))
        else:
            await self._forward(request, call, send)

    async def _models(self, route: Route, session: sessions.Session) -> bytes:
        """Return the models that the server has for a provider, or that the recording of a rerun used."""
        names: Sequence[str] = self._upstream(route.provider).models
        if session.is_rerun and not names:
            names = await asyncio.to_thread(playback.recorded_models, session.run_id)
        if route.model:
            return model_entry(route.protocol, route.model, names)
        return model_list(route.protocol, names)

    async def _play(self, request: "_Request", call: events.Call, send: Send) -> None:
        """Answer a request from a recording, or live where a fork allows it."""
        resolution = await self._resolve(call)
        if resolution.call_id is not None:
            call = playback.edited_call(call, resolution)
        try:
            outcome = playback.outcome_of(resolution)
            if outcome is None:
                await self._go_live(request, call, resolution, send)
                return
            if not resolution.is_exact and (refusal := await _refusal_of(call, outcome, resolution.row)):
                outcome = playback.refusal_outcome(refusal, call.protocol)
            # What a fork gets is stored first.
            if resolution.call_id is not None:
                store = functools.partial(
                    playback.store_answered, limit=settings.MAX_BODY_BYTES, is_recorded=resolution.is_exact
                )
                await asyncio.to_thread(store, call, outcome, resolution.call_id)
            await self._turns.wait(call, resolution.earlier_answers)
            await playback.send(outcome, send, has_pauses=request.session.has_pauses)
        finally:
            self._turns.note(call, resolution.no)

    async def _resolve(self, call: events.Call) -> Resolution:
        """Decide how a call is answered. The live call of an agent that was killed meanwhile is awaited."""
        resolve = functools.partial(playback.resolve, owner=self._live_calls.owner, limit=settings.MAX_BODY_BYTES)
        while True:
            try:
                return await asyncio.to_thread(resolve, call)
            except CallInFlight as wait:
                await self._live_calls.wait(wait.call_id)

    async def _go_live(self, request: "_Request", call: events.Call, resolution: Resolution, send: Send) -> None:
        """Pass a call to its provider, and the answer to the agent. It is read to its end if the agent hangs up."""
        call_id = resolution.call_id
        if call_id is None:
            raise RuntimeError("a live call without a row")

        async def check(events: bytes) -> bytes:
            names = [*answers.event_tool_names(call.operation.answer_api, events)]
            refusal = await asyncio.to_thread(playback.check_tools, call_id, names) if names else None
            return b"" if refusal is None else refusal.event(call.operation.answer_api, call.protocol)

        delivery = Delivery(send, functools.partial(self._turns.wait, call, resolution.earlier_answers), check)
        task = asyncio.create_task(self._ask(request, call, call_id, delivery))
        self._live_calls.add(call_id, task)
        await asyncio.shield(task)
        await delivery.finish()

    async def _ask(self, request: "_Request", call: events.Call, call_id: int, delivery: Delivery) -> None:
        """Send a call to its provider, and store it and, when it has ended, its answer."""
        answer = Answer(delivery.pass_on, call.start)
        store = functools.partial(playback.store_live, limit=settings.MAX_BODY_BYTES)
        await asyncio.to_thread(store, call, None, call_id)
        error = await self._exchange(request, call, answer)
        if error:
            await delivery.fail(_no_answer(error), request.route.protocol)
        # A stream is refused at its first tool without consent: only the whole answer shows all of them.
        elif (not delivery.is_stream or delivery.is_refused) and (
            refusal := await _refusal_of(call, answer.outcome(error), call_id)
        ):
            await delivery.fail(refusal, request.route.protocol)
        await asyncio.to_thread(store, call, answer.outcome(error), call_id)

    async def _forward(self, request: "_Request", call: events.Call, send: Send) -> None:
        """Send a request to its provider, pass the answer on, and record both."""

        async def ask(answer: Answer) -> str:
            if error := await self._exchange(request, call, answer):
                await answer.fail(_no_answer(error), request.route.protocol)
            return error

        await self._record(call, send, ask)

    async def _record(self, call: events.Call, send: Send, ask: Callable[[Answer], Awaitable[str]]) -> None:
        """Record a call with its answer; `ask` gives it to the agent, and returns why it did not arrive in full."""
        entry = _Entry(self._journal, call)
        answer = Answer(send, call.start)
        error = ""
        try:
            error = await ask(answer)
        finally:
            outcome = answer.outcome(error or ("" if answer.is_complete else "the server stopped during the call"))
            entry.finish(outcome)

    async def _exchange(self, request: "_Request", call: events.Call, answer: Answer) -> str:
        """Pass a call to the provider and its answer on; return why the answer did not arrive, or not all of it."""
        upstream = self._upstream(call.provider)
        if (protocol := self._foreign_protocol(call, request.route)) is not None:
            agent_request = playback.agent_request(call, settings.MAX_BODY_BYTES)
            return await translation.exchange(self._client, upstream, protocol, call, agent_request, answer)
        if call.provider == request.route.provider:
            headers = upstreams.request_headers(request.scope["headers"], upstream.key)
        else:
            headers = upstreams.headers_for_other(request.scope["headers"], call.protocol, upstream.key)
        method, body = ("GET", b"") if call.operation.is_read else ("POST", call.body)
        return await self._client.exchange(method, call.url(upstream.base_url), headers, body, answer)

    def _foreign_protocol(self, call: events.Call, route: Route) -> Protocol | None:
        """Return the protocol of a provider that does not speak the agent's; None if it does."""
        if call.provider == route.provider:
            return None
        if call.provider not in configured_providers():
            return None
        return foreign_protocol(call.provider, call.operation.api.partition(".")[0])

    def _configured_protocol(self, provider: str) -> str:
        try:
            return upstreams.protocol(provider)
        except ImproperlyConfigured as error:
            raise Refusal(status=400, reason=str(error)) from error

    def _upstream(self, provider: str) -> upstreams.Upstream:
        """Return where the calls of a provider go. The configuration does not change while the server runs."""
        if provider not in self._upstreams:
            try:
                self._upstreams[provider] = upstreams.find(provider)
            except ImproperlyConfigured as error:
                raise Refusal(status=400, reason=str(error)) from error
        return self._upstreams[provider]


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
        self._journal.add(functools.partial(events.end_line, self._call, outcome, limit=settings.MAX_BODY_BYTES))

    def _start(self) -> None:
        self._timer = None
        self._journal.add(functools.partial(_start_lines, self._call))


class _Request:
    """A request that is sent on: its scope, route, session and operation."""

    def __init__(self, scope: Scope, route: Route, session: sessions.Session, operation: Operation) -> None:
        self.scope = scope
        self.route = route
        self.session = session
        self._operation = operation

    @property
    def question(self) -> bytes:
        """What a request without a body asks, as its body."""
        # Gemini's clients may have their key there.
        parts = self.scope["query_string"].decode("latin-1").split("&")
        query = "&".join(part for part in parts if not part.startswith("key="))
        return orjson.dumps({"path": self.route.path, "query": query})

    def call(self, body: bytes, start: float) -> events.Call:
        headers = dict(self.scope["headers"])
        return events.Call(
            digest_key=redaction_key(),
            run_id=self.session.run_id,
            attempt=self.session.attempt,
            id=uuid4().hex,
            provider=self.route.provider,
            protocol=self.route.protocol,
            operation=self._operation,
            run_start=self.session.start,
            start=start,
            body=body,
            query=self.scope["query_string"].decode("latin-1"),
            parent=headers.get(STEP_HEADER.encode(), b"").decode("latin-1") or None,
            lane=headers.get(LANE_HEADER.encode(), b"").decode("latin-1"),
            encoding=headers.get(b"content-encoding", b"").decode("latin-1").lower(),
            headers=tuple(upstreams.version_headers(self.scope["headers"])),
        )


async def _refusal_of(call: events.Call, outcome: events.Outcome, row: int) -> Refusal | None:
    """Return why an answer must not reach the agent: it calls a tool that must not run."""
    check = functools.partial(playback.check_answer, limit=settings.MAX_BODY_BYTES)
    return await asyncio.to_thread(check, call, outcome, row)


async def _give(answer: Answer, body: bytes) -> str:
    await answer.start(200, {"content-type": "application/json"})
    await answer.pass_on(body)
    await answer.end()
    return ""


def _start_lines(call: events.Call) -> bytes:
    """Return the events of a request. Before that, all processes know that its run has calls: it may take a while."""
    sessions.note_calls(call.run_id)
    return events.start_lines(call, limit=settings.MAX_BODY_BYTES)


def _no_answer(error: str) -> Refusal:
    return Refusal(status=502, reason=f"the provider did not answer: {error}", may_retry=True)


def _session(text: str) -> sessions.Session:
    try:
        return sessions.read(text)
    except sessions.UnknownSession as error:
        raise Refusal(
            status=401, reason="this session is unknown or has expired; `forkpoint record` opens a new one"
        ) from error
