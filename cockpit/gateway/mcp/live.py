"""MCP servers that a rerun reaches for a call that may run. The agent's own handshake may not have reached them.

What such a server says while a call is open goes to the agent, and what the agent responds goes to the server.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID
from weakref import WeakValueDictionary

import orjson

from cockpit.gateway import upstreams
from cockpit.gateway.mcp import messages, servers, steps
from cockpit.gateway.mcp.conversations import ClientKey
from cockpit.gateway.mcp.dialogue import Dialogue
from cockpit.gateway.refusals import Refusal
from cockpit.gateway.transport.answer import Answer, discard
from cockpit.gateway.transport.client import Client
from cockpit.http.transfer.asgi import Message, Send
from forkpoint.mcp_shim import records
from replay.reruns.tools import mcp_sessions
from traces.core.json_access import as_object, as_text
from traces.core.json_types import JSONObject

_SESSION: Final = "mcp-session-id"
_VERSION: Final = "mcp-protocol-version"
_DEFAULT_VERSION: Final = "2025-06-18"
_MOST_SESSIONS: Final = 100
# Characters of a client's session in the database.
_LONGEST_ID: Final = 200
_BEGIN_S: Final = 2.0
# How often sessions are compared with the reruns that have ended.
_WATCH_S: Final = 2.0
_NOT_FOUND: Final = 404
_ERRORS: Final = 400
_UNREACHABLE: Final = 502

# Of whom no handshake is known.
_UNKNOWN_CLIENT: Final[JSONObject] = {"capabilities": {}, "clientInfo": {"name": "forkpoint", "version": "1"}}

Headers = list[tuple[str, str]]


class TransportFailure(Exception):
    """A server could not be reached, or refused the request by an HTTP status: its clients see that, and no message."""

    def __init__(self, status: int, body: bytes, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.body = body


@dataclass(frozen=True, kw_only=True)
class LiveCall:
    """A request that a server has not answered, and what the server said meanwhile, as it is recorded."""

    request: JSONObject
    dialogue: Dialogue
    messages: list[JSONObject] = field(default_factory=list)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    is_answered: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(kw_only=True)
class _Session:
    """A session with a server, for one session of a client."""

    id: str
    headers: Headers
    calls: list[LiveCall] = field(default_factory=list)
    # What the server sends of its own accord.
    events: asyncio.Task[str] | None = None


class Servers:
    """Sessions with servers, one for each that a client of a rerun has: a server may keep a state in it."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._sessions: OrderedDict[ClientKey, _Session] = OrderedDict()
        # Each as long as somebody waits for it.
        self._locks: WeakValueDictionary[ClientKey, asyncio.Lock] = WeakValueDictionary()
        self._watch: asyncio.Task[None] | None = None

    async def note_handshake(self, key: ClientKey, parameters: JSONObject) -> None:
        """Note what a client says of itself: its handshake may be answered from the recording."""
        await asyncio.to_thread(steps.note_handshake, _client(key), parameters)

    async def ask(self, key: ClientKey, call: LiveCall, headers: Iterable[tuple[bytes, bytes]]) -> JSONObject:
        """Return the response of a server to a request; raise `TransportFailure` or `Refusal`."""
        own_headers = _without_session(upstreams.request_headers(headers, ""))
        session = await self._session(key, own_headers)
        try:
            answer = await self._make(key[1], session, call)
            if answer.status == _NOT_FOUND and session.id:
                # The server has ended the session, as it may at any time. Another call may have opened a new one since.
                await asyncio.to_thread(steps.forget_server_session, _client(key), session.id)
                if self._sessions.get(key) is session:
                    self._drop(key)
                session = await self._session(key, own_headers)
                answer = await self._make(key[1], session, call)
        finally:
            for task in call.tasks:
                task.cancel()
        return _response(answer, call.request)

    async def tell(self, key: ClientKey, message: JSONObject, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Pass on what a client says about its open call, such as that it wants no response any more."""
        if (session := await self._find(key, _without_session(upstreams.request_headers(headers, "")))) is not None:
            await self._send(key[1], message, session)

    async def close(self, key: ClientKey, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
        """End the session of a client with a server."""
        session = await self._find(key, _without_session(upstreams.request_headers(headers, "")))
        if session is None:
            return
        self._drop(key)
        if session.id:
            await asyncio.to_thread(steps.forget_server_session, _client(key), session.id)
            await self._end(key[1], session)

    def _drop(self, key: ClientKey) -> None:
        """Stop to use a session."""
        session = self._sessions.pop(key, None)
        if session is not None and session.events is not None:
            session.events.cancel()

    async def _end(self, server: str, session: _Session) -> None:
        answer = Answer(discard, time.time(), is_kept=False)
        await self._client.exchange("DELETE", servers.address(server), _headers(session), b"", answer)

    async def stop(self) -> None:
        """Stop to use all sessions. Another process may go on with those of reruns that have not ended."""
        if self._watch is not None:
            self._watch.cancel()
        await self._close_ended()
        for key in [*self._sessions]:
            self._drop(key)

    async def _session(self, key: ClientKey, headers: Headers) -> _Session:
        async with self._locks.setdefault(key, asyncio.Lock()):
            session = await self._find(key, headers) or await self._open(key, headers)
            self._sessions[key] = session
            if self._watch is None or self._watch.done():
                self._watch = asyncio.create_task(self._watch_reruns())
            return session

    async def _find(self, key: ClientKey, headers: Headers) -> _Session | None:
        """Return the open session of a client, which another process may have opened; None if there is none."""
        if key in self._sessions:
            return self._sessions[key]
        id, _ = await asyncio.to_thread(steps.find_server_session, _client(key))
        return _Session(id=id, headers=headers) if id else None

    async def _open(self, key: ClientKey, headers: Headers) -> _Session:
        """Make a handshake with a server."""
        version = next((value for name, value in headers if name == _VERSION), _DEFAULT_VERSION)
        _, handshake = await asyncio.to_thread(steps.find_server_session, _client(key))
        parameters = {**(handshake or _UNKNOWN_CLIENT), "protocolVersion": version}
        request: JSONObject = {
            "jsonrpc": "2.0",
            messages.MESSAGE_ID: 0,
            "method": "initialize",
            "params": parameters,
        }
        session = _Session(id="", headers=headers)
        answer = await self._send(key[1], request, session)
        response = _response(answer, request)
        if "error" in response:
            raise Refusal(
                status=502, reason=f"the MCP server refused: {as_text(as_object(response['error']).get('message'))}"
            )
        session.id = next((value for name, value in answer.headers if name.lower() == _SESSION), "")
        await self._listen(key[1], session)
        await self._send(key[1], {"jsonrpc": "2.0", "method": "notifications/initialized"}, session)
        idle = [other for other, item in self._sessions.items() if not item.calls and other != key]
        if idle and len(self._sessions) >= _MOST_SESSIONS:
            await self.close(idle[0])
        return await self._share(key, session)

    async def _share(self, key: ClientKey, session: _Session) -> _Session:
        """Let other processes use a session; return theirs if one was faster."""
        if not session.id:
            return session
        id = await asyncio.to_thread(steps.keep_server_session, _client(key), session.id)
        if id == session.id:
            return session
        if session.events is not None:
            session.events.cancel()
        await self._end(key[1], session)
        return _Session(id=id, headers=session.headers)

    async def _listen(self, server: str, session: _Session) -> None:
        """Read what a server sends outside of its answers, as long as its session lasts."""
        if not session.id:
            return
        stream, has_begun = messages.MessageStream(), asyncio.Event()

        async def read(message: Message) -> None:
            has_begun.set()
            for item in stream.add(message.get("body", b"")):
                await self._hear(server, session, item)

        answer = Answer(read, time.time(), is_kept=False)
        exchange = self._client.exchange("GET", servers.address(server), _listening(session), b"", answer)
        session.events = asyncio.create_task(exchange)
        # A server loses what it says before.
        with suppress(TimeoutError):
            async with asyncio.timeout(_BEGIN_S):
                await has_begun.wait()

    async def _hear(self, server: str, session: _Session, message: JSONObject) -> None:
        """Pass on what a server says of its own accord, to the latest call that it may be about."""
        call = next((item for item in reversed(session.calls) if records.is_about(message, item.request)), None)
        if call is not None:
            await self._pass_on(server, session, call, message)
        elif records.is_request(message):
            reason = (
                "the agent has no call open here: of several web processes, one has to get all requests of a session"
            )
            refusal = messages.refusal(message[messages.MESSAGE_ID], reason)
            await self._send(server, refusal, session)

    async def _make(self, server: str, session: _Session, call: LiveCall) -> Answer:
        """Send the request of a call, and pass on what the server says before it responds."""
        stream = messages.MessageStream()

        async def read(message: Message) -> None:
            for item in stream.add(message.get("body", b"")):
                if messages.is_response(item) and item[messages.MESSAGE_ID] == call.request[messages.MESSAGE_ID]:
                    call.is_answered.set()
                await self._pass_on(server, session, call, item)

        session.calls.append(call)
        try:
            answer = await self._send(server, call.request, session, Answer(read, time.time()))
            while find_response(answer, call.request) is None and can_be_resumed(answer):
                answer = await self._read_on(server, session, call, answer, read)
            return answer
        finally:
            session.calls.remove(call)

    async def _read_on(self, server: str, session: _Session, call: LiveCall, answer: Answer, read: Send) -> Answer:
        """Read on, as a client would, after a stream that its server ended before the response.

        The server need not end this one after the response.
        """
        await asyncio.sleep(messages.retry_s(answer.body))
        place = ("last-event-id", messages.last_event_id(answer.body).decode("latin-1"))
        next_answer, headers = Answer(read, time.time()), [*_listening(session), place]
        tasks = [
            asyncio.create_task(self._client.exchange("GET", servers.address(server), headers, b"", next_answer)),
            asyncio.create_task(call.is_answered.wait()),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return next_answer

    async def _pass_on(self, server: str, session: _Session, call: LiveCall, message: JSONObject) -> None:
        item = records.to_record(message)
        if item is None:
            return
        if len(call.messages) < records.MOST_MESSAGES:
            call.messages.append(item)
        if not records.is_question(item):
            await call.dialogue.response.pass_on(message)
            return
        # Meanwhile the server may say more.
        task = asyncio.create_task(self._ask_client(server, session, call, item, message))
        call.tasks.add(task)
        task.add_done_callback(call.tasks.discard)

    async def _ask_client(
        self, server: str, session: _Session, call: LiveCall, item: JSONObject, message: JSONObject
    ) -> None:
        id = message[messages.MESSAGE_ID]
        content = await call.dialogue.ask(item)
        if content is None:
            await self._send(server, messages.refusal(id, "the agent is gone"), session)
            return
        item[records.RESPONSE] = content
        await self._send(server, {"jsonrpc": "2.0", messages.MESSAGE_ID: id, **content}, session)

    async def _send(self, server: str, message: JSONObject, session: _Session, answer: Answer | None = None) -> Answer:
        """Send a message to a server; raise `TransportFailure` if it cannot be reached."""
        answer = answer or Answer(discard, time.time())
        problem = await self._client.exchange(
            "POST", servers.address(server), _headers(session), orjson.dumps(message), answer
        )
        if problem and not answer.status:
            refusal = Refusal(status=_UNREACHABLE, reason=f"the MCP server did not answer: {problem}")
            raise TransportFailure(refusal.status, refusal.body(""), refusal.reason)
        return answer

    async def _watch_reruns(self) -> None:
        while self._sessions:
            await asyncio.sleep(_WATCH_S)
            await self._close_ended()

    async def _close_ended(self) -> None:
        """Close the sessions of reruns that have ended."""
        ended_ids = await asyncio.to_thread(steps.ended_reruns, {run for run, _, _ in self._sessions})
        for key in [key for key in self._sessions if key[0] in ended_ids]:
            await self.close(key)


def _client(key: ClientKey) -> mcp_sessions.Client:
    run, server, session = key
    return mcp_sessions.Client(rerun_id=UUID(run), server=server, id=session.decode("latin-1")[:_LONGEST_ID])


def _headers(session: _Session) -> Headers:
    return [*session.headers, *([(_SESSION, session.id)] if session.id else [])]


def _listening(session: _Session) -> Headers:
    """Return the headers of a request for events."""
    rest = [(name, value) for name, value in _headers(session) if name not in ("accept", "content-type")]
    return [*rest, ("accept", "text/event-stream")]


def _without_session(headers: Headers) -> Headers:
    return [(name, value) for name, value in headers if name != _SESSION]


def find_response(answer: Answer, request: JSONObject) -> JSONObject | None:
    """Return the response to a request in an answer of its server."""
    is_stream = answer.media_type.startswith("text/event-stream")
    return messages.find_response(answer.body, request[messages.MESSAGE_ID], is_stream=is_stream)


def can_be_resumed(answer: Answer) -> bool:
    """Return whether a client may read on in another stream, from the last event that it got."""
    return answer.media_type.startswith("text/event-stream") and messages.last_event_id(answer.body) != b""


def _response(answer: Answer, request: JSONObject) -> JSONObject:
    response = find_response(answer, request)
    if response is not None:
        return response
    reason = f"the MCP server answered HTTP {answer.status} without a response"
    if answer.status >= _ERRORS:
        raise TransportFailure(answer.status, answer.body, reason)
    raise Refusal(status=502, reason=reason)
