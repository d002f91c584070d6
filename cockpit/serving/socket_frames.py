"""Sockets whose clients send frames without end: they are closed, because to read a frame takes longer than sending."""

import asyncio
from typing import Any, Final

import structlog
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

log = structlog.get_logger("cockpit.serving.socket_frames")

# Frames that a client may send at once, and per second from then on. A runner of a hundred agents that print all the
# time sends 500 per second.
BURST: Final = 2_000
_PER_SECOND: Final = 1_000
# Bytes that are read before the next look at the number of frames: at most 700 frames.
_PIECE: Final = 4 * 1024
_POLICY_VIOLATION: Final = 1008
# Bytes of a reason to close, which shares a control frame of 125 bytes with its code (RFC 6455, section 5.5).
_REASON_SIZE: Final = 123


class GuardedSocket(WebSocketsSansIOProtocol):
    """Uvicorn's protocol of websockets with a limit of frames, and of reasons to close."""

    _frames_left = float(BURST)
    _counted_at = 0.0

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), _PIECE):
            if self.transport.is_closing():
                return
            super().data_received(data[start : start + _PIECE])

    def handle_events(self) -> None:
        if self.close_sent:
            # What still arrives is not kept.
            self.conn.max_message_size = _PIECE
        if self._may_send(len(self.conn.events)):
            super().handle_events()
            return
        log.info("socket_closed", reason="too many frames", address=self.client)
        self.stop_keepalive()
        self.conn.fail(_POLICY_VIOLATION, "too many frames")
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        self.transport.close()

    async def send(self, message: Any) -> None:
        if reason := message.get("reason"):
            # The client would get neither a longer reason nor its code.
            message = {**message, "reason": reason.encode()[:_REASON_SIZE].decode(errors="ignore")}
        await super().send(message)

    def _may_send(self, count: int) -> bool:
        now = asyncio.get_running_loop().time()
        refill = (now - self._counted_at) * _PER_SECOND
        self._counted_at = now
        self._frames_left = min(float(BURST), self._frames_left + refill) - count
        return self._frames_left >= 0


# Frames are not compressed: 15 kB may unpack to 16 MB, which stay in memory until the message is complete.
SOCKET_OPTIONS: Final[dict[str, Any]] = {"ws": GuardedSocket, "ws_per_message_deflate": False}
