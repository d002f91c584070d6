"""Clients that send slowly, break off, or read nothing."""

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cockpit.http.transfer import slots, slow_clients
from cockpit.http.transfer.asgi import Message, Receive, Scope, Send
from cockpit.http.transfer.slots import Slots, Turn
from tests.support.patience import patience_s
from traces.http.hang_ups import HANG_UP

END = {"type": "http.request", "body": b" and the end", "more_body": False}
BEGIN = {"type": "http.request", "body": b"a beginning", "more_body": True}
GONE = {"type": "http.disconnect"}


LONG: dict[str, Any] = {**BEGIN, "body": b"x" * 1024 * 1024}


def few_slots() -> Slots:
    return Slots(active=1, slow=2, slow_per_address=1)


class Exchange:
    """One request of a client that sends some messages and then nothing; and what the application got and said."""

    def __init__(
        self,
        *messages: Message,
        answer: bytes = b"fine",
        reads: bool = True,
        refused: slow_clients.Refusal | None = None,
    ) -> None:
        self.refused = refused
        self.sent: Iterator[Message] = iter(messages)
        self.answer, self.reads = answer, reads
        self.read: bytes | None = None
        self.failed: Exception | None = None
        self.heard: list[Message] = []

    async def receive(self) -> Message:
        message = next(self.sent, None)
        return message if message is not None else await asyncio.Future()

    async def send(self, message: Message) -> None:
        self.heard.append(message)
        if not self.reads:
            await asyncio.Future()

    async def application(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.read = b""
        more = True
        while more:
            try:
                message = await receive()
            except OSError as error:
                self.failed = error
                return
            self.read += message["body"]
            more = message["more_body"]
        for _ in range(3):
            await send({"type": "http.response.body", "body": self.answer})

    def run(self) -> "Exchange":
        scope = {"type": "http", "headers": [(b"content-length", b"100")]}
        guard = slow_clients.SlowClientGuard(self.application, self.refusal, few_slots())
        asyncio.run(guard(scope, self.receive, self.send))
        return self

    def refusal(self, scope: Scope) -> slow_clients.Refusal | None:
        return self.refused


@pytest.fixture(autouse=True)
def _little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_clients, "PATIENCE_S", 0.01)


def test_a_body_reaches_the_application_whole() -> None:
    served = Exchange(BEGIN, BEGIN, END).run()
    assert (served.read, len(served.heard)) == (b"a beginninga beginning and the end", 3)


def test_a_body_that_breaks_off_never_reaches_the_application() -> None:
    served = Exchange(BEGIN, GONE).run()
    assert (served.read, served.heard) == (None, [])


def test_a_body_that_stops_is_answered_without_the_application() -> None:
    served = Exchange(BEGIN).run()
    start, body = served.heard
    assert (served.read, start["status"]) == (None, 408)
    assert json.loads(body["body"])["code"] == "validation_error"


@pytest.mark.parametrize(("then", "kind"), [((GONE,), ConnectionResetError), ((), TimeoutError)])
def test_of_a_long_body_that_does_not_end_the_application_hears_an_error(
    then: tuple[Message, ...], kind: type[Exception]
) -> None:
    served = Exchange(LONG, *then).run()
    assert isinstance(served.failed, kind)
    assert served.heard == []


def test_a_client_that_reads_nothing_holds_nobody_up() -> None:
    served = Exchange(END, reads=False).run()
    assert (served.read, len(served.heard)) == (END["body"], 1)


@pytest.mark.parametrize("request_end", [(END,), (LONG, END)])
def test_the_application_learns_that_its_client_has_hung_up(request_end: tuple[Message, ...]) -> None:
    seen: list[bool] = []
    leaving = asyncio.Event()

    class Streaming(Exchange):
        async def application(self, scope: Scope, receive: Receive, send: Send) -> None:
            await super().application(scope, receive, send)
            seen.append(scope[HANG_UP].wait(0))
            leaving.set()
            await asyncio.sleep(0.01)
            seen.append(scope[HANG_UP].wait(0))

        async def receive(self) -> Message:
            if (message := next(self.sent, None)) is not None:
                return message
            await leaving.wait()
            return GONE

    Streaming(*request_end).run()
    assert seen == [False, True]


@pytest.mark.parametrize(
    ("method", "others_wait", "body"),
    [("GET", False, None), ("POST", False, END["body"]), ("POST", True, None)],
)
def test_a_request_whose_client_left_the_queue_runs_only_if_it_changes_something_and_delays_nobody(
    method: str, others_wait: bool, body: bytes | None
) -> None:
    exchange = Exchange(END, GONE)

    async def wait_for_turn(all_slots: Slots) -> None:
        async with Turn(all_slots, "one who waits"):
            pass

    async def queue() -> None:
        all_slots = few_slots()
        guard = slow_clients.SlowClientGuard(exchange.application, exchange.refusal, all_slots)
        async with Turn(all_slots, "another"):
            request = asyncio.create_task(
                guard({"type": "http", "method": method, "headers": []}, exchange.receive, exchange.send)
            )
            await asyncio.sleep(0.01)
            waiters = [asyncio.create_task(wait_for_turn(all_slots)) for _ in range(others_wait)]
            await asyncio.sleep(0)
        await asyncio.gather(request, *waiters)

    asyncio.run(queue())
    assert exchange.read == body


@pytest.mark.parametrize("received", [(END,), (LONG, BEGIN)])
def test_a_request_does_not_run_whose_client_has_left_unnoticed(received: tuple[Message, ...]) -> None:
    """It ends at once, although the event loop learns nothing: it may not read what else the client has sent."""
    exchange = Exchange(*received)
    scope = {"type": "http", "method": "GET", "headers": [], slow_clients.HAS_LEFT: lambda: True}
    guard = slow_clients.SlowClientGuard(exchange.application, exchange.refusal, few_slots())
    asyncio.run(asyncio.wait_for(guard(scope, exchange.receive, exchange.send), patience_s(10)))
    start, _ = exchange.heard
    assert (exchange.read, start["status"]) == (None, 499)
    assert (b"connection", b"close") in start["headers"]


def test_headers_with_underscores_reach_neither_the_check_nor_the_application() -> None:
    seen: list[list[tuple[bytes, bytes]]] = []

    class Spoofed(Exchange):
        async def application(self, scope: Scope, receive: Receive, send: Send) -> None:
            seen.append(scope["headers"][:-1])

        def refusal(self, scope: Scope) -> slow_clients.Refusal | None:
            seen.append(scope["headers"])
            return None

    exchange = Spoofed(END)
    headers = [(b"x_api_key", b"stolen"), (b"content-length", b"8"), (b"sec_fetch_site", b"none")]
    guard = slow_clients.SlowClientGuard(exchange.application, exchange.refusal, few_slots())
    asyncio.run(guard({"type": "http", "headers": headers}, exchange.receive, exchange.send))
    assert seen == [[(b"content-length", b"8")]] * 2


def test_refused_requests_are_not_read() -> None:
    served = Exchange(refused=(401, [(b"www-authenticate", b"Bearer")], b"{}")).run()
    start, body = served.heard
    assert (served.read, start["status"], body["body"]) == (None, 401, b"{}")
    assert (b"connection", b"close") in start["headers"]


def test_slow_bodies_have_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each piece comes in time, and all of them together do not."""
    monkeypatch.setattr(slow_clients, "PATIENCE_S", 0.2)
    exchange = Exchange(*[BEGIN] * 1_000)
    receive = exchange.receive

    async def slowly() -> Message:
        await asyncio.sleep(0.02)
        return await receive()

    monkeypatch.setattr(exchange, "receive", slowly)
    assert exchange.run().heard[0]["status"] == 408
    assert exchange.read is None


@pytest.mark.parametrize("slow", [lambda: Exchange(LONG), lambda: Exchange(END, reads=False)])
def test_slow_clients_pass_slots_on(slow: Callable[[], Exchange], monkeypatch: pytest.MonkeyPatch) -> None:
    """The only slot is free for others, and the oldest of too many slow clients of an address is dropped."""
    monkeypatch.setattr(slow_clients, "PATIENCE_S", 60.0)
    monkeypatch.setattr(slots, "FREE_S", 0.01)

    async def serve_all() -> None:
        scope = {"type": "http", "headers": [], "client": ("10.0.0.1", 1)}
        shared_slots = few_slots()

        def start(exchange: Exchange) -> asyncio.Task[None]:
            guard = slow_clients.SlowClientGuard(exchange.application, exchange.refusal, shared_slots)
            return asyncio.create_task(guard(scope, exchange.receive, exchange.send))

        oldest, newest = start(slow()), start(slow())
        async with asyncio.timeout(patience_s(20)):
            await start(quick := Exchange(END))
            await oldest
        assert quick.read == END["body"]
        assert not newest.done()
        newest.cancel()

    asyncio.run(serve_all())
