"""Requests to the application inside this process, with streamed bodies."""

import io
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import IO, Any

import httpx2


class StreamingTransport(httpx2.BaseTransport):
    """Like httpx2's transport for WSGI, which reads the body into memory first; imports may be too large for that."""

    def __init__(self, app: Callable[..., Any]) -> None:
        self._app = app

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        stream = request.stream
        if not isinstance(stream, httpx2.SyncByteStream):
            raise TypeError("the body of a request to this process must be read synchronously")
        body = io.BufferedReader(_Body(iter(stream)))
        head = httpx2.Request(request.method, request.url, headers=request.headers, content=b"")
        transport = httpx2.WSGITransport(app=partial(_with_body, self._app, body), wsgi_errors=sys.stderr)
        return transport.handle_request(head)


def _with_body(app: Callable[..., Any], body: IO[bytes], environ: Any, start_response: Any) -> Iterable[bytes]:
    answer: Iterable[bytes] = app({**environ, "wsgi.input": body}, start_response)
    return answer


class _Body(io.RawIOBase):
    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        while not self._left:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._left = memoryview(chunk)
        count = min(len(target), len(self._left))
        target[:count] = self._left[:count]
        self._left = self._left[count:]
        return count
