"""The queue of the embedded worker."""

import threading
import time
from typing import Any

import pytest
from kombu import Connection, Consumer, Queue

from cockpit.serving import embedded_worker


def test_message_wakes_its_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded_worker, "_GLANCE_S", 30)
    monkeypatch.setattr(embedded_worker.QuickTransport, "polling_interval", 30)
    letters: list[Any] = []
    with (
        Connection(transport=embedded_worker.QuickTransport) as connection,
        Consumer(connection, [Queue("letters")], callbacks=[lambda body, _: letters.append(body)], no_ack=True),
    ):
        sender = threading.Timer(0.05, connection.clone().SimpleQueue("letters").put, ["hello"])
        start = time.monotonic()
        sender.start()
        while not letters:
            connection.drain_events()
    sender.join()
    assert (letters, time.monotonic() - start < 20) == (["hello"], True)
