"""Bodies of requests to the gateway."""

import asyncio

import pytest
from pytest_django import Settings

from cockpit.gateway.refusals import Refusal
from cockpit.gateway.transport.asgi import Bodies
from cockpit.http.transfer import slow_clients
from cockpit.http.transfer.asgi import Message, Receive


async def never() -> Message:
    await asyncio.Event().wait()
    return {}


async def piece() -> Message:
    return {"type": "http.request", "body": b"x" * 60, "more_body": True}


def status(bodies: Bodies, receive: Receive) -> int:
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


def test_too_large_body_is_read_before_it_is_refused(settings: Settings) -> None:
    """A client that still sends would see a broken connection, and not the reason."""
    settings.MAX_BODY_BYTES = 100
    bodies = Bodies(total=100)
    messages: list[Message] = [{"type": "http.request", "body": b"x" * 60, "more_body": no < 4} for no in range(5)]
    with pytest.raises(Refusal) as refusal:
        asyncio.run(bodies.read(lambda: asyncio.sleep(0, messages.pop(0))))
    assert (refusal.value.status, messages) == (413, [])
    assert "larger than 100 bytes" in refusal.value.reason
    assert asyncio.run(bodies.read(lambda: asyncio.sleep(0, {"type": "http.request", "body": b"y"}))) == b"y"


def test_much_too_large_body_is_not_read_to_its_end(settings: Settings) -> None:
    settings.MAX_BODY_BYTES = 100
    messages: list[Message] = [{"type": "http.request", "body": b"x" * 60, "more_body": True} for _ in range(20)]
    with pytest.raises(Refusal) as refusal:
        asyncio.run(Bodies().read(lambda: asyncio.sleep(0, messages.pop())))
    assert (refusal.value.status, len(messages)) == (413, 13)


def test_slow_body_makes_room_for_others() -> None:
    """One that has sent most of a large body could keep its memory for hours."""
    bodies = Bodies(total=100, slow_after_s=0)
    pieces = [piece, never]

    async def trickle() -> Message:
        return await pieces.pop(0)()

    async def arrive() -> tuple[bytes | BaseException, bytes | BaseException]:
        slow = asyncio.create_task(bodies.read(trickle))
        await asyncio.sleep(0.01)
        messages: list[Message] = [
            {"type": "http.request", "body": b"x" * 60, "more_body": True},
            {"type": "http.request", "body": b"y"},
        ]
        quick = asyncio.create_task(bodies.read(lambda: asyncio.sleep(0.01, messages.pop(0))))
        return await asyncio.gather(slow, quick, return_exceptions=True)

    refusal, body = asyncio.run(arrive())
    assert isinstance(refusal, Refusal)
    assert (refusal.status, body) == (408, b"x" * 60 + b"y")
