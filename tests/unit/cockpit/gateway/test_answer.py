"""Answers of providers on their way to agents."""

import asyncio

import pytest
from pytest_django import Settings

from cockpit.gateway.transport.answer import Answer, EndlessAnswer
from cockpit.http.transfer.asgi import Message


def test_endless_answer_is_recorded_in_part(settings: Settings) -> None:
    settings.MAX_BODY_BYTES = 100
    messages: list[Message] = []
    is_gone = False

    async def send(message: Message) -> None:
        if is_gone:
            raise OSError
        messages.append(message)

    async def stream() -> None:
        nonlocal is_gone
        await answer.start(200, {"content-type": "text/event-stream"})
        for _ in range(5):
            await answer.pass_on(b"x" * 60)
        is_gone = True
        await answer.pass_on(b"x" * 60)
        with pytest.raises(EndlessAnswer):
            await answer.pass_on(b"x" * 60)

    answer = Answer(send, 0.0)
    asyncio.run(stream())
    outcome = answer.outcome("")
    assert sum(len(message.get("body", b"")) for message in messages) == 300
    assert (len(outcome.body), outcome.is_cut) == (60, True)
    assert "larger than 100 bytes" in outcome.error
