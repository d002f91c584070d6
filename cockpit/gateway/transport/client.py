"""The client of all providers."""

import importlib
from collections.abc import Iterable
from typing import Any, Final

import structlog

from cockpit.gateway.transport.answer import Answer
from cockpit.gateway.transport.resolver import CheckedResolver

log = structlog.get_logger("cockpit.gateway")
_CONNECT_S: Final = 10.0
# Without a byte from the provider. Models that reason may be silent for minutes.
_SILENCE_S: Final = 900.0


class Client:
    """Connections to providers. They belong to the loop that serves."""

    def __init__(self) -> None:
        self._session: Any = None

    async def exchange(
        self, method: str, url: str, headers: Iterable[tuple[str, str]], body: bytes, answer: Answer
    ) -> str:
        """Send a request and pass its answer on; return why the answer did not arrive, or not all of it."""
        try:
            async with self._open().request(method, url, data=body, headers=headers, allow_redirects=False) as response:
                await answer.start(response.status, response.headers)
                async for piece in response.content.iter_any():
                    await answer.pass_on(piece)
            await answer.end()
        except (OSError, TimeoutError, _aiohttp().ClientError) as problem:
            error = _describe(problem)
            log.warning("gateway_upstream_failed", host=url.split("/")[2], error=error)
            return error
        return ""

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open(self) -> Any:
        if self._session is None:
            aiohttp = _aiohttp()
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, resolver=CheckedResolver()),
                timeout=aiohttp.ClientTimeout(total=None, connect=_CONNECT_S, sock_read=_SILENCE_S),
                auto_decompress=False,
                # Cookies of one agent must not reach another's calls.
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("user-agent", "content-type", "accept"),
            )
        return self._session


def _describe(problem: Exception) -> str:
    """Return what went wrong. Texts of other errors quote the address, in which clients of Gemini send their key, or
    the answer.
    """
    name = type(problem).__name__
    is_system_error = isinstance(problem, OSError) and not isinstance(problem, TimeoutError)
    return f"{name}: {problem}" if is_system_error else name


def _aiohttp() -> Any:
    """Import the client library when the first agent calls: it takes as long as many commands."""
    return importlib.import_module("aiohttp")
