"""An answer of a provider on its way to the agent."""

import asyncio
import time
from typing import Any, Final

from django.conf import settings

from cockpit.gateway import upstreams
from cockpit.gateway.events import Outcome
from cockpit.gateway.refusals import Refusal
from cockpit.http.transfer.asgi import Message, Send
from replay.reruns.core.playback import is_stream_type

_SLOW_CLIENT_S: Final = 30.0


class EndlessAnswer(OSError):
    """An answer that is too large to record, and that nobody reads any more."""


class Answer:
    """An answer on its way to the agent, and what has arrived of it unless it is not `is_kept`: some never end.

    Beyond the size that a request may have, an answer is only passed on, and not read to its end if the agent is gone.
    """

    def __init__(self, send: Send, request_time: float, *, is_kept: bool = True) -> None:
        self.is_complete = False
        self.status = 0
        self.headers: tuple[tuple[str, str], ...] = ()
        self.media_type = ""
        self._send = send
        self._is_kept = is_kept
        self._request_time = request_time
        self._pieces: list[bytes] = []
        self._size = 0
        self._marks: list[tuple[int, int]] = []
        self._encoding = ""
        self._client_is_gone = False
        # Why what was recorded is not the whole answer.
        self._loss = ""

    @property
    def body(self) -> bytes:
        return b"".join(self._pieces)

    async def start(self, status: int, headers: Any) -> None:
        self.status, self.headers = status, tuple(headers.items())
        self.media_type = headers.get("content-type", "").lower()
        self._encoding = headers.get("content-encoding", "").lower()
        passed_headers = upstreams.answer_headers(headers.items())
        await self._deliver({"type": "http.response.start", "status": status, "headers": passed_headers})

    async def pass_on(self, piece: bytes) -> None:
        if self._is_kept and self._size + len(piece) > settings.MAX_BODY_BYTES:
            self._is_kept = False
            self._loss = f"the answer is larger than {settings.MAX_BODY_BYTES} bytes; the rest was not recorded"
        if self._loss and self._client_is_gone:
            raise EndlessAnswer(self._loss)
        if self._is_kept:
            self._marks.append((self._size, int((time.time() - self._request_time) * 1000)))
            self._pieces.append(piece)
            self._size += len(piece)
        await self._deliver({"type": "http.response.body", "body": piece, "more_body": True})

    async def end(self) -> None:
        self.is_complete = True
        await self._deliver({"type": "http.response.body", "body": b""})

    async def fail(self, refusal: Refusal, protocol: str) -> None:
        """Answer with a refusal if nothing was passed on; a rerun gives it again. Else the connection is closed."""
        if not self.status:
            await self.start(refusal.status, {name.decode(): value.decode() for name, value in refusal.headers()})
            await self.pass_on(refusal.body(protocol))
            await self.end()

    def outcome(self, error: str) -> Outcome:
        return Outcome(
            end=time.time(),
            status=self.status,
            headers=self.headers,
            marks=self._marks,
            body=self.body,
            encoding=self._encoding,
            is_stream=is_stream_type(self.media_type),
            error=error or self._loss,
            is_cut=bool(self.status) and (bool(self._loss) or not self.is_complete),
        )

    async def _deliver(self, message: Message) -> None:
        """Send to the agent, unless it is gone or has stopped reading."""
        if self._client_is_gone:
            return
        try:
            async with asyncio.timeout(_SLOW_CLIENT_S):
                await self._send(message)
        except (OSError, TimeoutError):
            self._client_is_gone = True


async def discard(_: Message) -> None:
    """Send nothing: the agent gets the answer when it is stored."""
