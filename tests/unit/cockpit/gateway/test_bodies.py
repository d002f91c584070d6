"""Bodies of requests to the gateway."""

import asyncio

import pytest

from cockpit.gateway.refusals import Refusal
from cockpit.gateway.transport.asgi import Bodies, Message
from cockpit.http.transfer import slow_clients


async def never() -> Message:
    await asyncio.Event().wait()
    return {}


async def piece() -> Message:
    return {"type": "http.request", "body": b"x" * 60, "more_body": True}


def status(bodies: Bodies, receive: slow_clients.Receive) -> int:
    with pytest.raises(Refusal) as refusal:
        asyncio.run(bodies.read(receive))
    assert refusal.value.may_retry
    return refusal.value.status


def test_body_that_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_clients, "PATIENCE_S", 0.01)
    assert status(Bodies(), never) == 408


def test_arriving_bodies_share_a_limit() -> None:
    bodies = Bodies(total=100)
    assert status(bodies, piece) == 503
    whole: Message = {"type": "http.request", "body": b"x" * 1_000}
    assert asyncio.run(bodies.read(lambda: asyncio.sleep(0, whole))) == whole["body"]
