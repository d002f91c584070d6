"""Counts and times of requests."""

import asyncio

import pytest

from cockpit.metrics.exposition import render
from cockpit.metrics.requests import MeasuredRequests, Message, Receive, RequestCounts, Scope, Send, part_of


async def _no_message() -> Message:
    raise AssertionError


async def _ignore(message: Message) -> None:
    pass


async def _busy(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 503})
    await send({"type": "http.response.body"})


async def _broken(scope: Scope, receive: Receive, send: Send) -> None:
    raise ConnectionResetError


def test_every_answer_counts_with_its_status() -> None:
    counts = RequestCounts()
    scope = {"type": "http", "path": "/v1/traces", "method": "POST"}
    asyncio.run(MeasuredRequests(_busy, counts)(scope, _no_message, _ignore))
    with pytest.raises(ConnectionResetError):
        asyncio.run(MeasuredRequests(_broken, counts)({**scope, "method": "X"}, _no_message, _ignore))
    text = render(counts.metrics())
    assert 'forkpoint_http_requests_total{part="otlp",method="POST",status="503"} 1\n' in text
    assert 'forkpoint_http_requests_total{part="otlp",method="other",status="499"} 1\n' in text
    assert 'forkpoint_http_request_seconds_count{part="otlp"} 2\n' in text


def test_buckets_count_all_faster_requests() -> None:
    counts = RequestCounts()
    for seconds in (0.005, 0.3, 500):
        counts.add("api", "GET", 200, seconds)
    text = render(counts.metrics())
    assert 'le="0.005"} 1\n' in text
    assert 'le="0.5"} 2\n' in text
    assert 'le="120.0"} 2\n' in text
    assert 'le="+Inf"} 3\n' in text


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
