"""Answers that reach the agent in pieces: recorded streams, and live ones before they are stored."""

import asyncio
import time
from typing import Any

import pytest

from cockpit.gateway import playback
from cockpit.gateway.events import Outcome
from cockpit.gateway.refusals import Refusal
from cockpit.gateway.transport.answer import Answer
from cockpit.gateway.transport.delivery import Delivery

STREAM = [(b"content-type", b"text/event-stream")]
BODY = b"data: 1\n\ndata: 2\n\n"


class Agent:
    """Collects the messages that it gets."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    async def get(self, message: dict[str, Any]) -> None:
        self.messages.append(message)

    @property
    def bodies(self) -> list[bytes]:
        return [message["body"] for message in self.messages[1:]]


@pytest.mark.parametrize(("has_pauses", "least_s"), [(False, 0.0), (True, 0.1)])
def test_stream_comes_in_its_recorded_pieces(*, has_pauses: bool, least_s: float) -> None:
    agent = Agent()
    marks = [(0, 40), (9, 100)]
    outcome = Outcome(end=0.0, status=200, body=BODY, marks=marks, is_stream=True)
    start_s = time.monotonic()
    asyncio.run(playback.send(outcome, agent.get, has_pauses=has_pauses))
    assert agent.bodies == [BODY[:9], BODY[9:], b""]
    assert time.monotonic() - start_s >= least_s


@pytest.mark.parametrize("is_stream", [True, False])
def test_answer_that_was_cut_off_does_not_end(*, is_stream: bool) -> None:
    agent = Agent()
    outcome = Outcome(end=0.0, status=200, body=BODY, is_stream=is_stream, is_cut=True)
    asyncio.run(playback.send(outcome, agent.get, has_pauses=False))
    assert [message.get("more_body") for message in agent.messages] == [None, True]


async def no_turn() -> None:
    """Let the answer be the next one."""


async def no_check(events: bytes) -> bytes:
    """Let all events pass."""
    return b""


def start(headers: list[tuple[bytes, bytes]]) -> dict[str, Any]:
    return {"type": "http.response.start", "status": 200, "headers": headers}


def body(content: bytes, *, more_body: bool = True) -> dict[str, Any]:
    return {"type": "http.response.body", "body": content, "more_body": more_body}


async def answer(agent: Agent, headers: list[tuple[bytes, bytes]]) -> list[bytes]:
    """Pass an answer on, and return what of it arrived before it was stored."""
    delivery = Delivery(agent.get, no_turn, no_check)
    for message in (start(headers), body(b"first\n\n"), body(b"", more_body=False)):
        await delivery.pass_on(message)
    early_bodies = agent.bodies
    await delivery.finish()
    return early_bodies


def test_agent_sees_the_end_of_an_answer_when_it_is_stored() -> None:
    stream, document = Agent(), Agent()
    assert asyncio.run(answer(stream, STREAM)) == [b"first\n\n"]
    assert asyncio.run(answer(document, [])) == []
    assert stream.bodies == document.bodies == [b"first\n\n", b""]


def test_document_that_breaks_off_is_refused() -> None:
    async def break_off(agent: Agent) -> None:
        delivery = Delivery(agent.get, no_turn, no_check)
        await delivery.pass_on(start([]))
        await delivery.pass_on(body(b'{"a'))
        await delivery.fail(Refusal(status=502, reason="it broke off", may_retry=True), "openai")
        await delivery.finish()

    agent = Agent()
    asyncio.run(break_off(agent))
    assert agent.messages[0]["status"] == 502
    assert b"it broke off" in b"".join(agent.bodies)


def test_events_that_must_not_pass_end_the_stream() -> None:
    """An event is looked at when it is whole, however it is cut."""

    async def check(events: bytes) -> bytes:
        return b"data: refusal\n\n" if b"erase" in events else b""

    async def deliver(agent: Agent) -> None:
        delivery = Delivery(agent.get, no_turn, check)
        for message in (
            start(STREAM),
            *(body(piece) for piece in (b"data: 1\n\nda", b"ta: er", b"ase\n\n", b"data: 2\n\n")),
        ):
            await delivery.pass_on(message)
        await delivery.pass_on(body(b"", more_body=False))
        await delivery.finish()

    agent = Agent()
    asyncio.run(deliver(agent))
    assert agent.bodies == [b"data: 1\n\n", b"data: refusal\n\n", b""]


def test_end_of_an_event_may_come_in_bytes() -> None:
    agent = Agent()

    async def pass_on() -> None:
        delivery = Delivery(agent.get, no_turn, no_check)
        await delivery.pass_on(start(STREAM))
        for byte in b"data: 1\r\n\r\ndata: 2\n\nda":
            await delivery.pass_on(body(bytes([byte])))

    asyncio.run(pass_on())
    assert agent.bodies == [b"data: 1\r\n\r\n", b"data: 2\n\n"]


@pytest.mark.parametrize(("is_kept", "body"), [(True, BODY), (False, b"")])
def test_endless_answer_is_passed_on_without_being_kept(is_kept: bool, body: bytes) -> None:
    agent = Agent()
    answer = Answer(agent.get, time.time(), is_kept=is_kept)

    async def arrive() -> None:
        await answer.start(200, {"content-type": "text/event-stream"})
        await answer.pass_on(BODY)

    asyncio.run(arrive())
    outcome = answer.outcome("")
    assert (agent.bodies, outcome.body, len(outcome.marks)) == ([BODY], body, int(is_kept))
