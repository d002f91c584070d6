"""What servers and clients say to each other while a request is open, for the recording of the request.

A server also speaks in the stream of its own events, which names no request: that is about the latest one.
"""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from cockpit.gateway.mcp import messages
from forkpoint.mcp_shim import records
from traces.core.json_types import JSONObject, JSONValue

# How long a request waits for the stream of the server's own events: what a server asks before it is open is lost, and
# the server would wait without end.
_PATIENCE_S: Final = 1.0
_MOST_CLIENTS: Final = 1_000
# How long a client may take to read on after a stream ended before the response. Servers name shorter times.
_RESUMPTION_S: Final = 30.0

# A run, a server, and a client's session with it.
ClientKey = tuple[str, str, bytes]


@dataclass(kw_only=True)
class OpenRequest:
    """A request that has no response yet, and what the server said meanwhile, as it is recorded.

    `response` is one that came in another stream than that of the request.
    """

    message: JSONObject
    messages: list[JSONObject] = field(default_factory=list)
    response: JSONObject | None = None
    is_cancelled: bool = False
    change: asyncio.Event = field(default_factory=asyncio.Event)
    # Places of questions among the messages, by their ids.
    questions: dict[str, int] = field(default_factory=dict)

    @property
    def open_questions(self) -> JSONObject:
        """The questions to which no response has reached this process."""
        return {id: place for id, place in self.questions.items() if self.messages[place][records.RESPONSE] is None}


class Conversations:
    """The open requests of recordings, and the questions of servers that wait for their clients."""

    def __init__(self) -> None:
        self._open: dict[ClientKey, list[OpenRequest]] = {}
        self._questions: dict[tuple[ClientKey, bytes], JSONObject] = {}
        self._streams: OrderedDict[ClientKey, asyncio.Event] = OrderedDict()
        self._open_streams: Counter[ClientKey] = Counter()

    def begin(self, key: ClientKey, message: JSONObject) -> OpenRequest:
        request = OpenRequest(message=message)
        self._open.setdefault(key, []).append(request)
        return request

    def cancel(self, key: ClientKey, id: JSONValue) -> None:
        """Note that a client wants no response to a request any more."""
        if (request := self._find(key, id)) is not None:
            request.is_cancelled = True
            request.change.set()

    def respond(self, key: ClientKey, message: JSONObject) -> None:
        """Note a response in another stream than that of its request."""
        if (request := self._find(key, message[messages.MESSAGE_ID])) is not None:
            request.response = message
            request.change.set()

    async def wait_for_end(
        self, request: OpenRequest, ending: asyncio.Future[Any], *, patience_s: float | None = None
    ) -> bool:
        """Wait until a request has its response, or until its own stream ends; return whether that was soon enough.

        A server may leave the stream open. After a cancellation it has a moment to end it.
        """
        change = asyncio.ensure_future(request.change.wait())
        try:
            await asyncio.wait([ending, change], timeout=patience_s, return_when=asyncio.FIRST_COMPLETED)
            if request.is_cancelled and request.response is None:
                await asyncio.wait([ending], timeout=_PATIENCE_S)
            return ending.done() or change.done()
        finally:
            change.cancel()

    async def wait_for_response(self, key: ClientKey, request: OpenRequest) -> None:
        """Wait for the response in a stream by which the client goes on reading, while it has one or may open one."""
        while not request.change.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(_RESUMPTION_S):
                    await request.change.wait()
            if not self._open_streams[key]:
                return

    @contextmanager
    def listening(self, key: ClientKey) -> Iterator[None]:
        """Note that a client reads a stream of events that belongs to no request of its own."""
        self._open_streams[key] += 1
        try:
            yield
        finally:
            self._open_streams[key] -= 1
            if not self._open_streams[key]:
                del self._open_streams[key]

    def _find(self, key: ClientKey, id: JSONValue) -> OpenRequest | None:
        requests = self._open.get(key, ())
        return next((request for request in requests if request.message[messages.MESSAGE_ID] == id), None)

    def end(self, key: ClientKey, request: OpenRequest) -> None:
        requests = self._open[key]
        requests.remove(request)
        if not requests:
            del self._open[key]
        waiting = [
            place for place, item in self._questions.items() if any(item is message for message in request.messages)
        ]
        for place in waiting:
            del self._questions[place]

    def hear(self, key: ClientKey, message: JSONObject, request: OpenRequest | None = None) -> bool:
        """Note what a server says: about a request, or about the latest one that it may be about.

        Return whether there is one: it may be open in another process.
        """
        requests = [request] if request else [*self._open.get(key, ())]
        request = next((item for item in reversed(requests) if records.is_about(message, item.message)), None)
        item = records.to_record(message)
        if request is None or item is None or len(request.messages) >= records.MOST_MESSAGES:
            return request is not None
        if records.is_question(item):
            id = orjson.dumps(message[messages.MESSAGE_ID])
            self._questions[key, id] = item
            request.questions[id.decode()] = len(request.messages)
        request.messages.append(item)
        return True

    def note_answer(self, key: ClientKey, message: JSONObject) -> bool:
        """Note what a client responds to a question; return whether the question is known in this process."""
        item = self._questions.pop((key, orjson.dumps(message[messages.MESSAGE_ID])), None)
        if item is not None:
            item[records.RESPONSE] = records.response_content(message)
        return item is not None

    def expect_stream(self, key: ClientKey) -> None:
        """Expect a client to open the stream of the server's own events. A server without sessions has none."""
        if key[2]:
            self._streams[key] = asyncio.Event()
            if len(self._streams) > _MOST_CLIENTS:
                self._streams.popitem(last=False)

    def note_stream(self, key: ClientKey) -> None:
        """Note that the stream is open, or that the server has none."""
        if (event := self._streams.get(key)) is not None:
            event.set()

    async def wait_for_stream(self, key: ClientKey) -> None:
        """Wait until the expected stream is open. For a limited time, and once: a client need not open it."""
        if (event := self._streams.get(key)) is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_PATIENCE_S):
                    await event.wait()
            self._streams.pop(key, None)
