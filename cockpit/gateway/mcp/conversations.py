"""What servers and clients say to each other while a request is open, for the recording of the request.

A server also speaks in the stream of its own events, which names no request: that is about the latest one.
"""

import asyncio
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import orjson

from cockpit.gateway.mcp import messages
from forkpoint.mcp_shim import records
from traces.core.json_types import JSONObject

# How long a request waits for the stream of the server's own events: what a server asks before it is open is lost, and
# the server would wait without end.
_PATIENCE_S: Final = 1.0
_MOST_CLIENTS: Final = 1_000

# A run, a server, and a client's session with it.
ClientKey = tuple[str, str, bytes]


@dataclass(frozen=True, kw_only=True)
class OpenRequest:
    """A request that has no response yet, and what the server said meanwhile, as it is recorded."""

    message: JSONObject
    messages: list[JSONObject] = field(default_factory=list)
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

    def begin(self, key: ClientKey, message: JSONObject) -> OpenRequest:
        request = OpenRequest(message=message)
        self._open.setdefault(key, []).append(request)
        return request

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
