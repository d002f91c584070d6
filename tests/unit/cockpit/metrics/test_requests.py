"""Counts and times of requests."""

import asyncio

import pytest
from prometheus_client import CollectorRegistry

from cockpit.http.transfer.asgi import Application, Message, Receive, Scope, Send
from cockpit.metrics.requests import MeasuredRequests, part_of


async def _no_message() -> Message:
    raise AssertionError


async def _ignore(message: Message) -> None:
    pass


async def _busy(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 503})
    await send({"type": "http.response.body"})


async def _abandoned(scope: Scope, receive: Receive, send: Send) -> None:
    raise asyncio.CancelledError


async def _broken(scope: Scope, receive: Receive, send: Send) -> None:
    raise ZeroDivisionError


def test_every_answer_counts_with_its_status() -> None:
    registry = CollectorRegistry()
    scope = {"type": "http", "path": "/v1/traces", "method": "POST"}
    asyncio.run(MeasuredRequests(_busy, registry)(scope, _no_message, _ignore))
    answers = {"part": "otlp", "method": "POST", "status": "503"}
    assert registry.get_sample_value("forkpoint_http_requests_total", answers) == 1
    assert registry.get_sample_value("forkpoint_http_request_seconds_count", {"part": "otlp"}) == 1


@pytest.mark.parametrize(
    ("application", "error", "status"),
    [(_abandoned, asyncio.CancelledError, "499"), (_broken, ZeroDivisionError, "500")],
)
def test_request_without_an_answer_counts(application: Application, error: type[BaseException], status: str) -> None:
    registry = CollectorRegistry()
    scope = {"type": "http", "path": "/", "method": "HACK"}
    with pytest.raises(error):
        asyncio.run(MeasuredRequests(application, registry)(scope, _no_message, _ignore))
    answers = {"part": "pages", "method": "other", "status": status}
    assert registry.get_sample_value("forkpoint_http_requests_total", answers) == 1


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("/api/public/otel/v1/traces", "otlp"),
        ("/api/public/ingestion", "langfuse"),
        ("/api/v1/runs/1", "api"),
        ("/gateway/s/openai/v1/chat/completions", "gateway"),
        ("/langsmith/runs/batch", "langsmith"),
        ("/runs/1", "pages"),
    ],
)
def test_parts_are_known_by_their_paths(path: str, part: str) -> None:
    assert part_of(path) == part
