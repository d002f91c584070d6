"""Connections that send half a request, against a real server on real sockets."""

import contextlib
import http.client
import resource
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from cockpit.http.transfer.slow_clients import HAS_LEFT, PIPELINE
from cockpit.http.transfer.waiting import Waiting
from cockpit.serving import incomplete_requests
from cockpit.serving.incomplete_requests import GuardedProtocol
from cockpit.serving.socket_frames import BURST, SOCKET_OPTIONS
from tests.support.patience import patience_s, wait_until

HALF = b"GET / HTTP/1.1\r\nHost: x\r\nX-Half: "
LONG = 64 * 1024 * 1024
WHOLE = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


async def hello(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        if (await receive()).get("text") == "close":
            await send({"type": "websocket.close", "code": 4400, "reason": "€" * 100})
        return
    if scope["path"] == "/echo":
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message["body"], message["more_body"]
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
        await send({"type": "http.response.body", "body": body})
        return
    if scope["path"] == "/long":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": bytes(LONG)})
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
    await send({"type": "http.response.body", "body": b"piped" if scope[PIPELINE] else b"hello"})


def few_waiting() -> Waiting[GuardedProtocol]:
    return Waiting(total=512, per_address=128)


@contextlib.contextmanager
def serving(application: Any = hello, **limits: Any) -> Iterator[int]:
    """A server whose connections have these limits; its port."""
    protocol = type("Limited", (GuardedProtocol,), {"waiting": few_waiting(), **limits})
    config = uvicorn.Config(
        application, http=protocol, lifespan="off", log_config=None, timeout_keep_alive=60, **SOCKET_OPTIONS
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        wait_until(lambda: server.started, 20)
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(patience_s(20))


def sending(port: int, data: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=patience_s(20))
    connection.sendall(data)
    return connection


def is_answered(port: int) -> bool:
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=patience_s(5))
    client.request("GET", "/")
    answer = client.getresponse().read()
    client.close()
    return answer == b"hello"


def hears_hello(connection: socket.socket) -> bool:
    """Read the answer, whose headers and body may arrive separately."""
    answer = b""
    while not answer.endswith(b"hello") and (piece := connection.recv(4096)):
        answer += piece
    return answer.endswith(b"hello")


def is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_half_headers_leave_room_for_others() -> None:
    with serving(waiting=Waiting(total=40, per_address=20)) as port, contextlib.ExitStack() as stack:
        halves = [stack.enter_context(sending(port, HALF)) for _ in range(200)]
        assert is_answered(port)
        assert is_closed(halves[0])  # the oldest went


def test_open_socket_awaits_no_header() -> None:
    waiting = few_waiting()
    with serving(waiting=waiting) as port, connect(f"ws://127.0.0.1:{port}/", proxy=None):
        assert len(waiting) == 0


def test_a_socket_of_too_many_frames_is_closed() -> None:
    with serving() as port, connect(f"ws://127.0.0.1:{port}/", proxy=None) as client:
        assert client.protocol.extensions == []  # compressed frames would unpack to a thousand times their size
        pings = (client.ping() for _ in range(10 * BURST))
        with pytest.raises(ConnectionClosed):
            list(pings)


def test_a_long_reason_to_close_is_cut_between_letters() -> None:
    with serving() as port, connect(f"ws://127.0.0.1:{port}/", proxy=None) as client:
        client.send("close")
        with pytest.raises(ConnectionClosed) as closed:
            client.recv(patience_s(10))
    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4400, "€" * 41)


def test_headers_have_a_deadline() -> None:
    with serving(header_s=0.2) as port, sending(port, HALF) as half, sending(port, b"") as silent:
        assert is_closed(half)
        assert is_closed(silent)


def test_unread_responses_have_a_deadline() -> None:
    with serving(read_s=0.2) as port, sending(port, WHOLE.replace(b"/ ", b"/long ", 1)) as silent:
        # A busy machine starts to answer late, and the deadline counts from then on.
        time.sleep(patience_s(1))
        size = 0
        with contextlib.suppress(ConnectionResetError):
            while piece := silent.recv(1 << 20):
                size += len(piece)
        assert size < LONG


def test_kept_connections_have_a_deadline_too() -> None:
    with serving(header_s=1) as port, sending(port, WHOLE) as connection:
        assert hears_hello(connection)
        connection.sendall(HALF)
        assert is_closed(connection)


def test_a_request_of_two_framings_ends_its_connection() -> None:
    both = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    with serving() as port, sending(port, both + WHOLE) as connection:
        assert hears_hello(connection)
        assert is_closed(connection)  # what follows is not answered


def test_a_body_in_tiny_chunks_arrives_whole_and_the_next_request_too() -> None:
    chunks = b"".join(b"1\r\n%c\r\n" % letter for letter in b"0123456789" * 100)
    header = b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    with serving() as port, sending(port, header + chunks + b"0\r\n\r\n" + WHOLE) as connection:
        answers = b""
        while not answers.endswith(b"piped"):
            answers += connection.recv(4096)
        assert b"0123456789" * 100 in answers
        assert is_answered(port)


def test_requests_before_the_last_response_are_marked() -> None:
    with serving() as port, sending(port, WHOLE) as connection:
        assert hears_hello(connection)
        connection.sendall(WHOLE * 3)
        answers = b""
        while answers.count(b"piped") < 2:
            answers += connection.recv(4096)
        assert answers.count(b"hello") == 1
        connection.sendall(WHOLE)
        assert hears_hello(connection)


def test_a_request_is_dropped_if_its_client_has_left_and_it_changes_nothing() -> None:
    requests: list[str] = []
    seen: list[bool] = []
    release = threading.Event()

    async def application(scope: Any, receive: Any, send: Any) -> None:
        requests.append(f"{scope['method']} {scope['path']}")
        if scope["path"] == "/block":
            # The event loop learns nothing meanwhile.
            seen.append(scope[HAS_LEFT]())
            release.wait(patience_s(20))
            seen.append(scope[HAS_LEFT]())
        await hello(scope, receive, send)

    def sent(method: bytes, path: bytes) -> socket.socket:
        return sending(port, WHOLE.replace(b"GET /", method + b" " + path, 1))

    with serving(application) as port:
        with sent(b"GET", b"/block") as blocker:
            wait_until(lambda: seen == [False], 20)
            with sent(b"GET", b"/half") as half, sent(b"POST", b"/post"):
                half.shutdown(socket.SHUT_WR)
                blocker.close()
        release.set()
        assert is_answered(port)
    assert seen == [False, True]
    assert sorted(requests) == ["GET /", "GET /block", "POST /post"]


def test_idle_connections_make_room() -> None:
    with serving(most_open=10) as port, contextlib.ExitStack() as stack:
        for _ in range(30):
            assert hears_hello(stack.enter_context(sending(port, WHOLE)))


def test_the_descriptor_limit_is_raised() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 512), hard))
    try:
        raised = incomplete_requests.raise_descriptor_limit()
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= raised > 512
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_reserve_of_descriptors_is_kept() -> None:
    assert incomplete_requests.guarded_protocol().most_open <= incomplete_requests.raise_descriptor_limit() - 256
