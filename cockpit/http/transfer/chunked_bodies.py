"""Bodies that arrive in chunks, without a length. Django takes them for empty."""

import io
from typing import Any, Final

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest

from cockpit.http.transfer.slow_clients import queue_s
from traces.collectors import back_pressure

_PIECE: Final = 256 * 1024


class ChunkedBody(io.IOBase):
    """A body up to its end; raises `RequestDataTooBig` at the limit."""

    def __init__(self, stream: Any, limit: int) -> None:
        self._stream = stream
        self._rest = limit

    def read(self, size: int | None = -1) -> bytes:
        if size is None or size < 0:
            return b"".join(iter(lambda: self.read(_PIECE), b""))
        return self._count(self._stream.read(size))

    def readline(self, size: int | None = -1) -> bytes:
        return self._count(self._stream.readline(_PIECE if size is None or size < 0 else size))

    def _count(self, piece: bytes) -> bytes:
        self._rest -= len(piece)
        if self._rest < 0:
            raise RequestDataTooBig
        return piece


class Request(WSGIRequest):
    """A request whose body may have no length."""

    def __init__(self, environ: dict[str, Any]) -> None:
        coding = environ.get("HTTP_TRANSFER_ENCODING", "").lower()
        limit = max(settings.DATA_UPLOAD_MAX_MEMORY_SIZE, settings.MAX_BODY_BYTES)
        is_chunked = "chunked" in coding and not environ.get("CONTENT_LENGTH")
        if is_chunked:
            # An upper bound: without one, parsers do not read the body.
            environ["CONTENT_LENGTH"] = str(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
        super().__init__(environ)
        if is_chunked:
            stream: Any = ChunkedBody(environ["wsgi.input"], limit)
            self._stream = stream


class Handler(WSGIHandler):
    request_class = Request

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        back_pressure.note_queue(queue_s(environ))
        return super().__call__(environ, start_response)
