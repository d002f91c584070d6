"""Headers of many lines, and bodies in many tiny chunks."""

import asyncio

import h11
import pytest

from cockpit.serving.request_pieces import MOST_LINES, PIECES, MeteredConnection, Turns

HEADER = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_a_parser_returns_a_few_pieces_at_once() -> None:
    parser = MeteredConnection(1024)
    parser.receive_data(HEADER + b"1\r\nx\r\n" * (PIECES + 1) + b"0\r\n\r\n")
    assert isinstance(parser.next_event(), h11.Request)
    pieces = list(iter(parser.next_event, h11.NEED_DATA))
    assert len(pieces) == PIECES
    parser.pieces_left = PIECES
    assert isinstance(parser.next_event(), h11.Data)
    assert isinstance(parser.next_event(), h11.EndOfMessage)


@pytest.mark.parametrize("end", [b"\r\n", b"\n"])
def test_only_the_lines_of_the_header_count(end: bytes) -> None:
    header = b"GET / HTTP/1.1\r\nHost: x\r\n" + b"a: b\r\n" * (MOST_LINES - 2)
    parser = MeteredConnection(64 * 1024)
    parser.receive_data(header + end + b"a: b\r\n" * MOST_LINES)
    assert isinstance(parser.next_event(), h11.Request)


@pytest.mark.parametrize("end", [b"\r\n", b""])
def test_a_header_of_many_lines_is_rejected(end: bytes) -> None:
    parser = MeteredConnection(64 * 1024)
    parser.receive_data(b"GET / HTTP/1.1\r\nHost: x\r\n" + b"a: b\r\n" * MOST_LINES + end)
    with pytest.raises(h11.RemoteProtocolError):
        parser.next_event()


class Sender:
    """A connection with something left for so many turns; `order` is shared by all."""

    def __init__(self, turns: Turns, address: str, count: int, order: list[str]) -> None:
        self.address = address
        self._turns, self._count, self._order = turns, count, order

    def take_turn(self) -> None:
        self._order.append(self.address)
        self._count -= 1
        if self._count:
            self._turns.add(self)


def test_addresses_take_turns() -> None:
    order: list[str] = []

    async def run() -> None:
        turns = Turns()
        for address, count in (("flood", 2), ("flood", 2), ("flood", 2), ("other", 2)):
            turns.add(Sender(turns, address, count, order))
        while len(order) < 8:
            await asyncio.sleep(0)

    asyncio.run(run())
    assert order[:4] == ["flood", "other", "flood", "other"]
