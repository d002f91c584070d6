"""Counts and times the requests of this process, whichever part of the server answers them."""

import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from itertools import accumulate
from typing import Any, Final

from cockpit.metrics.exposition import Metric, Sample

Scope = dict[str, Any]
Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

# Parts of the server by the beginning of the path; the first that fits counts. A label for each path would have no
# limit: paths contain ids, and anyone can ask for paths that do not exist.
_PARTS: Final = (
    ("/gateway/", "gateway"),
    ("/api/v1/", "api"),
    ("/v1/", "otlp"),
    ("/otel/", "otlp"),
    ("/api/public/otel/", "otlp"),
    ("/api/public/", "langfuse"),
    ("/langfuse-media/", "langfuse"),
    ("/langsmith/", "langsmith"),
)
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# Of seconds. Streams of models take minutes.
_BUCKETS: Final = (0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 30.0, 120.0)
# The client hung up before there was an answer.
_NO_ANSWER: Final = 499


class RequestCounts:
    """The numbers and times of requests, by part of the server; threads may add to them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: Counter[tuple[str, str, str]] = Counter()
        self._buckets: dict[str, list[int]] = {}
        self._seconds: Counter[str] = Counter()

    def add(self, part: str, method: str, status: int, seconds: float) -> None:
        with self._lock:
            self._answers[part, method if method in _METHODS else "other", str(status)] += 1
            self._buckets.setdefault(part, [0] * (len(_BUCKETS) + 1))[bisect_left(_BUCKETS, seconds)] += 1
            self._seconds[part] += seconds  # type: ignore[assignment]  # a Counter of floats

    def metrics(self) -> list[Metric]:
        with self._lock:
            answers = sorted(self._answers.items())
            times = [*self._times()]
        names = ("part", "method", "status")
        return [
            Metric(
                name="forkpoint_http_requests_total",
                help="Requests that this process answered.",
                type="counter",
                samples=[Sample(value=count, labels=dict(zip(names, key, strict=True))) for key, count in answers],
            ),
            Metric(
                name="forkpoint_http_request_seconds",
                help="Seconds from a request to the end of its answer.",
                type="histogram",
                samples=times,
            ),
        ]

    def _times(self) -> Iterator[Sample]:
        for part, counts in sorted(self._buckets.items()):
            for limit, count in zip((*map(str, _BUCKETS), "+Inf"), accumulate(counts), strict=True):
                yield Sample(suffix="_bucket", labels={"part": part, "le": limit}, value=count)
            yield Sample(suffix="_sum", labels={"part": part}, value=self._seconds[part])
            yield Sample(suffix="_count", labels={"part": part}, value=sum(counts))


COUNTS: Final = RequestCounts()


class MeasuredRequests:
    """Adds every HTTP request of `application` to the counts."""

    def __init__(self, application: Application, counts: RequestCounts = COUNTS) -> None:
        self._application = application
        self._counts = counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        status = _NO_ANSWER
        start = time.perf_counter()

        async def send_measured(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._application(scope, receive, send_measured)
        finally:
            self._counts.add(part_of(scope["path"]), scope["method"], status, time.perf_counter() - start)


def part_of(path: str) -> str:
    """Return the part of the server that answers at a path."""
    return next((part for start, part in _PARTS if path.startswith(start)), "pages")
