"""Calls of providers that fail."""

import asyncio

import pytest
from structlog.testing import capture_logs

from cockpit.gateway.transport.answer import Answer
from cockpit.gateway.transport.client import Client


async def _receive(message: object) -> None:
    """Take what the agent would get."""


async def _ask(answer: bytes) -> str:
    """Return why a provider's answer did not arrive."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()

    client = Client()
    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        error = await client.exchange(
            "GET", f"http://127.0.0.1:{port}/v1beta/models?key=AIza-key", [], b"", Answer(_receive, 0.0)
        )
        await client.close()
    return error


@pytest.mark.parametrize(
    "answer",
    [
        b"an answer without a status\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nan answer\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nan answer\r\n",
        b"",
    ],
)
def test_error_quotes_neither_address_nor_answer(answer: bytes) -> None:
    with capture_logs() as entries:
        error = asyncio.run(_ask(answer))
    assert error
    assert entries[0]["error"] == error
    for text in ("AIza-key", "an answer"):
        assert text not in f"{error} {entries}"
