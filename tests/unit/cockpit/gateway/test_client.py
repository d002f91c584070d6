"""Calls of providers that fail."""

import asyncio
import socket

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


@pytest.mark.parametrize(
    ("host", "address", "reason"),
    [
        ("api.anthropic.com", "10.0.0.1", "a private address that is not configured"),
        ("models.corp", "169.254.169.254", "which is link-local"),
        ("models.corp", "100.100.100.200", "where a cloud hands out credentials"),
    ],
)
def test_name_of_a_refused_address_is_not_reached(
    host: str, address: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert reason in asyncio.run(_exchange_with(host, address, monkeypatch))


def test_host_that_the_operator_names_may_be_private(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "refused:" not in asyncio.run(_exchange_with("models.corp", "127.0.0.1", monkeypatch))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://api.anthropic.com:9")
    assert "refused:" not in asyncio.run(_exchange_with("api.anthropic.com", "127.0.0.1", monkeypatch))


async def _exchange_with(host: str, address: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return why no answer came from a host whose name has this address."""
    look_up = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda name, *args, **options: look_up(address, *args, **options))
    client = Client()
    # The discard port: nothing listens there.
    error = await client.exchange("POST", f"http://{host}:9/v1/messages", [], b"{}", Answer(_receive, 0.0))
    await client.close()
    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return error
