"""Counts and times the requests of this process, whichever part of the server answers them."""

import time
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram

from cockpit.http.transfer.asgi import Application, Message, Receive, Scope, Send

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
# The web server gives it if the application raised an error before it answered.
_CRASH: Final = 500


class MeasuredRequests:
    """Counts and times every HTTP request of `application`."""

    def __init__(self, application: Application, registry: CollectorRegistry) -> None:
        self._application = application
        self._answers = Counter(
            "forkpoint_http_requests",
            "Requests that this process answered.",
            ("part", "method", "status"),
            registry=registry,
        )
        self._times = Histogram(
            "forkpoint_http_request_seconds",
            "Seconds from a request to the end of its answer.",
            ("part",),
            buckets=_BUCKETS,
            registry=registry,
        )

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
        except Exception:
            status = _CRASH if status == _NO_ANSWER else status
            raise
        finally:
            part, method = part_of(scope["path"]), scope["method"]
            self._times.labels(part).observe(time.perf_counter() - start)
            self._answers.labels(part, method if method in _METHODS else "other", str(status)).inc()


def part_of(path: str) -> str:
    """Return the part of the server that answers at a path."""
    return next((part for start, part in _PARTS if path.startswith(start)), "pages")
