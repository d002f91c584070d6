"""Requests in many tiny pieces, which take long to parse: a chunk of one byte costs as much as one of 64 KiB.

A header of many lines is rejected. Of a body, a connection parses a few pieces as they arrive. If more have arrived, it
stops reading and waits for its turn, and all turns together take a part of the time of the event loop, which also
serves everyone else.
"""

import asyncio
import re
from collections import deque
from typing import Any, Final, Protocol

import h11
from uvicorn.protocols.http.flow_control import FlowControl

# A tracer's batch, or 256 KiB in chunks of 2 KiB; parsing takes about 2 ms.
PIECES: Final = 128
# Of a header; proxies permit 100. Parsing one takes 6 us, and 64 KiB have room for 13,000.
MOST_LINES: Final = 256
_HEADER_END: Final = re.compile(rb"\n\r?\n")
# The part of the event loop's time that turns may take.
_SHARE: Final = 0.25


class MeteredConnection(h11.Connection):
    """Parser of a server's connection that does little at once.

    It returns at most `pieces_left` pieces of a body, then asks for more data, and rejects a header of many lines.
    """

    def __init__(self, max_incomplete_event_size: int) -> None:
        super().__init__(h11.SERVER, max_incomplete_event_size)
        self.pieces_left = PIECES

    def next_event(self) -> Any:
        if not self.pieces_left:
            return h11.NEED_DATA
        if self.their_state is h11.IDLE and _line_count(bytes(self._receive_buffer)) > MOST_LINES:
            raise h11.RemoteProtocolError(f"A header may have {MOST_LINES} lines.", error_status_hint=431)
        event = super().next_event()
        if isinstance(event, h11.Data):
            self.pieces_left -= 1
        return event


def _line_count(data: bytes) -> int:
    """Return the number of lines of a header at the start of the data, complete or not."""
    end = _HEADER_END.search(data)
    return data.count(b"\n", 0, end.start()) if end else data.count(b"\n")


class InterruptibleFlow(FlowControl):
    """Flow control of a connection that reads nothing while it waits for its turn, even if its application would."""

    is_interrupted = False

    def interrupt(self) -> None:
        self.is_interrupted = True
        self.pause_reading()

    def resume_reading(self) -> None:
        if not self.is_interrupted:
            super().resume_reading()


class Party(Protocol):
    """A connection that has more to parse."""

    @property
    def address(self) -> str: ...
    def take_turn(self) -> None:
        """Parse some pieces; wait for another turn if there are more."""


class Turns:
    """The connections that wait for a turn, by address: one with many of them delays the others by one turn."""

    def __init__(self) -> None:
        self._parties: dict[str, deque[Party]] = {}
        self._timer: asyncio.TimerHandle | None = None
        # Time of the event loop before which no turn begins.
        self._start_time = 0.0

    def add(self, party: Party) -> None:
        self._parties.setdefault(party.address, deque()).append(party)
        self._schedule()

    def _schedule(self) -> None:
        if self._timer is None and self._parties:
            self._timer = asyncio.get_running_loop().call_at(self._start_time, self._run)

    def _run(self) -> None:
        loop = asyncio.get_running_loop()
        start = loop.time()
        self._next_party().take_turn()
        end = loop.time()
        self._start_time = end + (end - start) * (1 / _SHARE - 1)
        self._timer = None
        self._schedule()

    def _next_party(self) -> Party:
        address = next(iter(self._parties))
        parties = self._parties.pop(address)
        party = parties.popleft()
        if parties:
            # Behind all other addresses.
            self._parties[address] = parties
        return party
