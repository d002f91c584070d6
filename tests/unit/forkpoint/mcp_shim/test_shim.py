"""The shim before servers that do not behave."""

import io
import sys
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from forkpoint.gateway_run import GATEWAY
from forkpoint.mcp_shim.messages import HANDSHAKE, OpenRequest, line_of
from forkpoint.mcp_shim.records import META, PARAMETERS
from forkpoint.mcp_shim.session import Session
from forkpoint.mcp_shim.shim import Shim
from forkpoint.vocabulary import SDK_MARK
from tests.support.patience import wait_until

# Nothing listens there.
_SESSION = Session({GATEWAY: "http://127.0.0.1:9"}, "desk")
_MUTE_SERVER = "import os, sys; os.close(1); sys.stdin.read()"


def _line(id: int, method: str) -> bytes:
    """Return a request of which the SDK takes care, so that the session is not asked."""
    return line_of({"jsonrpc": "2.0", "id": id, "method": method, PARAMETERS: {META: {SDK_MARK: True}}})


def test_requests_to_a_server_that_has_closed_its_output_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    output = io.BytesIO()

    def requests() -> Iterator[bytes]:
        for id, method in ((1, HANDSHAKE), (2, "tools/list")):
            yield _line(id, method)
            wait_until(lambda: f'"id": {id}'.encode() in output.getvalue(), 10)  # noqa: B023  # called at once

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=requests()))
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=output))
    assert Shim([sys.executable, "-c", _MUTE_SERVER], _SESSION).serve() == 0
    assert output.getvalue().count(b"error") == 2


def test_answer_that_is_nested_too_deeply_is_not_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    answer: dict[str, Any] = {}
    for _ in range(5_000):
        answer = {"result": answer}
    _SESSION.record(OpenRequest({"method": "tools/call", "id": 1}, b"", call=({}, "c")), answer)
    assert "forkpoint: the session cannot be reached" in capsys.readouterr().err


def test_calls_begin_while_the_server_speaks() -> None:
    shim = Shim(["server"], _SESSION)
    is_over = threading.Event()

    def call() -> None:
        while not is_over.is_set():
            for id in range(40):
                shim._open[id] = OpenRequest({"method": "tools/call", "id": id}, b"")
            shim._open.clear()

    calls = threading.Thread(target=call)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    calls.start()
    try:
        for _ in range(3_000):
            shim._hear({"method": "notifications/message"})
    finally:
        is_over.set()
        calls.join()
        sys.setswitchinterval(interval)
