"""The queue while its broker is away: requests do not wait for it."""

from collections.abc import Iterator
from uuid import uuid4

import pytest
from celery import current_app
from kombu.exceptions import OperationalError

from traces import enqueue


class _Broker:
    """A broker of which each attempt takes `cost_s`, and all but the last of `answers` fail."""

    def __init__(self, cost_s: float, *answers: bool) -> None:
        self.now = 100.0
        self.attempts = 0
        self._cost_s = cost_s
        self._answers = answers

    def send_task(self, name: str, ids: list[str], **options: object) -> None:
        self.attempts += 1
        self.now += self._cost_s
        if not self._answers[min(self.attempts, len(self._answers)) - 1]:
            raise OperationalError("away")


@pytest.fixture(autouse=True)
def _no_rest() -> Iterator[None]:
    yield
    enqueue._rest["end"] = 0.0


def _connect(broker: _Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(current_app, "send_task", broker.send_task)
    monkeypatch.setattr("traces.enqueue.time.monotonic", lambda: broker.now)


def test_closed_connection_is_opened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = _Broker(0.0, False, True)
    _connect(broker, monkeypatch)
    assert enqueue.send("replay.run", uuid4())


def test_silent_broker_is_waited_for_once_in_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = _Broker(10.0, False)
    _connect(broker, monkeypatch)
    assert [enqueue.send("replay.run", uuid4()) for _ in range(20)] == [False] * 20
    assert broker.attempts == 1
    broker.now += 10
    enqueue.send("replay.run", uuid4())
    assert broker.attempts == 2
