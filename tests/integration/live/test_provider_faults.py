"""Provider faults: a call is retried, or the replay fails with code and step; no partial answer is stored."""

import contextlib
import email.utils
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

import pytest
from pytest_django import Settings

from replay.execution import runner, task_names
from replay.live import providers
from replay.live.providers import calls
from replay.models import Attempt, ReplaySession, SessionMessage
from replay.sessions import prepare, queries, services
from tests.support.patience import join, wait_until
from tests.support.queues import capture_tasks
from tests.support.replay_runs import Reply, order_desk
from tests.support.servers.provider_server import (
    Exchange,
    ProviderServer,
    Respond,
    anthropic_events,
    anthropic_message,
    openai_chunk,
    openai_text,
    provider_server,
)
from traces.models import Run, Step
from traces.runs.services import record
from traces.storage import artifacts

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]
MODEL_STEP: Final = 3
PROTOCOLS: Final = ("openai", "anthropic")
GOOD: Final = "On its way."
# A provider that does not answer: longer than every wait of a test.
HANG_S: Final = 600.0
# Short enough to be waited for, and long enough for the retry, which has the same limit.
SHORT_S: Final = 1.5
ENDLESS_SIGNS: Final = "endless signs of life"


def _good(protocol: str) -> Respond:
    if protocol == "openai":
        return openai_text("On ", "its way.")
    return anthropic_message({"type": "text", "text": GOOD})


def _half(exchange: Exchange, protocol: str) -> None:
    """The first part of an answer, with some text."""
    exchange.stream()
    if protocol == "openai":
        exchange.send(openai_chunk({"role": "assistant", "content": "Half of "}))
        return
    for event, data in list(anthropic_events({"type": "text", "text": "Half of something"}))[:3]:
        exchange.send(data, event)


def _reset(exchange: Exchange) -> None:
    """Close the connection with a reset instead of an end of stream."""
    exchange.handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    exchange.handler.connection.close()
    exchange.handler.close_connection = True


def _status(status: int, **headers: str) -> Callable[[Exchange, str], None]:
    body = {"type": "error", "error": {"message": "not now", "type": "some_error"}}
    return lambda exchange, protocol: exchange.status(status, body, **headers)


def _after_half(finish: Callable[[Exchange], None]) -> Callable[[Exchange, str], None]:
    def respond(exchange: Exchange, protocol: str) -> None:
        _half(exchange, protocol)
        finish(exchange)

    return respond


def _in_stream(*lines: str) -> Callable[[Exchange, str], None]:
    def respond(exchange: Exchange, protocol: str) -> None:
        exchange.stream()
        for line in lines:
            exchange.send(line, "content_block_delta")

    return respond


def _forever(piece: bytes, kind: str = "text/event-stream", pause_s: float = 0.0) -> Callable[[Exchange, str], None]:
    def respond(exchange: Exchange, protocol: str) -> None:
        exchange.handler.send_response(200)
        exchange.handler.send_header("content-type", kind)
        exchange.handler.end_headers()
        exchange.handler.close_connection = True
        with contextlib.suppress(OSError):  # the other side has heard enough
            while True:
                exchange.handler.wfile.write(piece)
                time.sleep(pause_s)

    return respond


def _other_json(exchange: Exchange, protocol: str) -> None:
    """A complete document that is no answer, as from a proxy."""
    exchange.status(200, {"object": "list", "data": []})


def _broken_arguments(exchange: Exchange, protocol: str) -> None:
    exchange.stream()
    if protocol == "openai":
        call = {"index": 0, "id": "a", "function": {"name": "get_order", "arguments": '{"id": '}}
        exchange.send(openai_chunk({"tool_calls": [call]}))
        exchange.send(openai_chunk(finish="tool_calls"))
        return
    block = {"type": "tool_use", "id": "t", "name": "get_order", "input": {"id": 1}}
    events = list(anthropic_events(block, stop_reason="tool_use"))
    pieces = [at for at, (_, data) in enumerate(events) if data["type"] == "content_block_delta"]
    for event, data in [*events[: pieces[-1]], *events[pieces[-1] + 1 :]]:
        exchange.send(data, event)


def _arguments(text: str) -> Callable[[Exchange, str], None]:
    """A tool call with this text as arguments."""

    def respond(exchange: Exchange, protocol: str) -> None:
        exchange.stream()
        if protocol == "openai":
            call = {"index": 0, "id": "a", "function": {"name": "get_order", "arguments": text}}
            exchange.send(openai_chunk({"tool_calls": [call]}))
            exchange.send(openai_chunk(finish="tool_calls"))
            return
        pieces = iter([text])
        for event, data in anthropic_events({"type": "tool_use", "id": "t", "name": "get_order", "input": {"id": 1}}):
            if data["type"] == "content_block_delta":
                data["delta"]["partial_json"] = next(pieces, "")
            exchange.send(data, event)

    return respond


def _half_a_character(exchange: Exchange, protocol: str) -> None:
    exchange.stream()
    if protocol == "openai":
        for piece in ("Half a ", "\ud83d"):
            exchange.send(openai_chunk({"content": piece}))
        exchange.send(openai_chunk(finish="stop"))
        return
    for event, data in anthropic_events({"type": "text", "text": "Half a \ud83d"}):
        exchange.send(data, event)


def _error_inside(kind: str) -> Callable[[Exchange, str], None]:
    def respond(exchange: Exchange, protocol: str) -> None:
        exchange.stream()
        exchange.send({"type": "error", "error": {"type": kind, "message": "busy"}}, "error")

    return respond


def _compressed_answer(status: int, **headers: str) -> Callable[[Exchange, str], None]:
    all_headers = {"content_encoding": "gzip", "content_type": "text/event-stream", **headers}
    return lambda exchange, protocol: exchange.status(status, "\x1f\x8b half", **all_headers)


def _http_date(seconds: float) -> str:
    return email.utils.format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


class Fault(NamedTuple):
    name: str
    respond: Callable[[Exchange, str], None]
    code: str
    is_retryable: bool = True  # the same call may succeed later


FAULTS: Final = (
    Fault("silence", lambda exchange, protocol: time.sleep(HANG_S), "timeout"),
    Fault("silence in the middle", _after_half(lambda exchange: time.sleep(HANG_S)), "timeout"),
    Fault("reset", lambda exchange, protocol: _reset(exchange), "network"),
    Fault("reset in the middle", _after_half(_reset), "network"),
    Fault("closed in the middle", _after_half(lambda exchange: None), "incomplete_stream"),
    Fault("400", _status(400), "bad_request", is_retryable=False),
    Fault("401", _status(401), "auth", is_retryable=False),
    Fault("404", _status(404), "not_found", is_retryable=False),
    Fault("413", _status(413), "too_large", is_retryable=False),
    Fault("429", _status(429), "rate_limited"),
    Fault("429, wait in seconds", _status(429, retry_after="0.05"), "rate_limited"),
    Fault("429, wait that is over", _status(429, retry_after=_http_date(-60)), "rate_limited"),
    Fault("429, unreadable wait", _status(429, retry_after="soon"), "rate_limited"),
    Fault("429, wait for a day", _status(429, retry_after="86400"), "rate_limited", is_retryable=False),
    Fault("500", _status(500), "server_error"),
    Fault("502", _status(502), "server_error"),
    Fault("503", _status(503), "overloaded"),
    Fault("522", _status(522), "server_error"),
    Fault("529", _status(529), "overloaded"),
    Fault("501", _status(501), "server_error", is_retryable=False),
    Fault("redirect", _status(302, location="http://127.0.0.1:1/"), "refused", is_retryable=False),
    Fault("no JSON", _in_stream("{not json"), "invalid_response"),
    Fault("another shape", _in_stream('{"choices": 5, "type": 5}'), "invalid_response"),
    Fault("a list", _in_stream("[1, 2]"), "invalid_response"),
    Fault("nothing", lambda exchange, protocol: exchange.status(200, ""), "invalid_response"),
    Fault("an empty stream", lambda exchange, protocol: exchange.stream(), "incomplete_stream"),
    Fault(
        "a page",
        lambda exchange, protocol: exchange.status(200, "<html>login</html>", content_type="text/html"),
        "invalid_response",
    ),
    Fault("another document", _other_json, "invalid_response"),
    Fault("broken arguments", _broken_arguments, "invalid_response"),
    Fault("an argument that is no number", _arguments('{"id": NaN}'), "invalid_response"),
    Fault("an argument beyond all numbers", _arguments('{"id": 1e999}'), "invalid_response"),
    Fault("half a character in an argument", _arguments('{"id": "\\ud83d"}'), "invalid_response"),
    Fault("half a character", _half_a_character, "invalid_response"),
    Fault("compressed", _compressed_answer(200), "invalid_response", is_retryable=False),
    Fault("429, compressed", _compressed_answer(429, retry_after="0.05"), "rate_limited"),
    Fault("one endless line", _forever(b"data: " + b"x" * 4096), "invalid_response", is_retryable=False),
    Fault("an endless page", _forever(b"<p>more</p>" * 400, "text/html"), "invalid_response", is_retryable=False),
    Fault(ENDLESS_SIGNS, _forever(b": ping\n\n", pause_s=0.05), "invalid_response", is_retryable=False),
    Fault("an error inside the stream", _error_inside("overloaded_error"), "overloaded"),
    Fault("a refusal inside the stream", _error_inside("authentication_error"), "auth", is_retryable=False),
)


@pytest.fixture(autouse=True)
def _small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "_MOST_BYTES", 300_000)
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE)


@pytest.fixture
def server(settings: Settings) -> Iterator[ProviderServer]:
    with provider_server(_good("openai")) as running:
        settings.PROVIDERS = {
            "openai-like": {"protocol": "openai", "base_url": f"{running.base_url}/v1", "timeout_s": 60},
            "anthropic-like": {"protocol": "anthropic", "base_url": running.base_url, "timeout_s": 60},
        }
        yield running
        providers.close()


def launch(protocol: str, **policy: Any) -> ReplaySession:
    run = Run.objects.get(id=record(order_desk([("Where is it?", (Reply("Nobody knows."),))])).run_id)
    entry = {"match": {"step": MODEL_STEP}, "model": {"provider": f"{protocol}-like", "model": "m1"}}
    policy_fields = {"retries": {"max": 1, "initial_s": 0.01}, "order": "reexecute", **policy}
    body: Any = {"run": str(run.id), "overrides": {"overrides": [entry]}, "policy": policy_fields}
    return services.launch(prepare.parse(body))


def attempts(session: ReplaySession) -> list[tuple[str, str]]:
    rows = Attempt.objects.filter(session=session).order_by("attempt")
    return list(rows.values_list("status", "error_code"))


def read_along(session: ReplaySession) -> str:
    """The text that a client has assembled; a lower offset restarts it."""
    text = ""
    for message in SessionMessage.objects.filter(session=session, type="text").order_by("seq"):
        text = text[: message.body["offset"]] + message.body["text"]
    return text


def answered_step(session: ReplaySession) -> Step:
    session.refresh_from_db()
    return Step.objects.get(run=session.run, sequence_no=MODEL_STEP)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_single_fault_is_retried_or_final(
    server: ProviderServer, settings: Settings, monkeypatch: pytest.MonkeyPatch, fault: Fault, protocol: str
) -> None:
    if fault.code == "timeout":
        settings.PROVIDERS[f"{protocol}-like"]["timeout_s"] = SHORT_S
    if fault.name == ENDLESS_SIGNS:
        monkeypatch.setattr(calls, "_LONGEST_S", SHORT_S)
    server.respond = lambda exchange: (
        fault.respond(exchange, protocol) if len(server.requests) == 1 else _good(protocol)(exchange)
    )
    session = launch(protocol)
    runner.execute(session.id)
    view = queries.session_view(session.id)
    step = answered_step(session)
    if fault.is_retryable:
        assert view.status.startswith("completed"), view.error
        assert attempts(session) == [("failed", fault.code), ("succeeded", "")]
        output: Any = artifacts.payload(step.output_ref)
        assert (output["message"]["content"], step.retries, read_along(session)) == (GOOD, 1, GOOD)
    else:
        assert (view.status, view.error_code, view.error_sequence_no) == ("failed_execution", fault.code, MODEL_STEP)
        assert attempts(session) == [("failed", fault.code)]
        assert (step.status, step.output_ref, len(server.requests)) == ("error", "", 1)
        assert view.error
    assert not Attempt.objects.filter(status="intended").exists()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_lasting_fault_exhausts_retries(server: ProviderServer, protocol: str) -> None:
    server.respond = lambda exchange: _status(503)(exchange, protocol)
    session = launch(protocol, retries={"max": 2, "initial_s": 0.01})
    runner.execute(session.id)
    view = queries.session_view(session.id)
    assert (view.status, view.error_code, view.error_sequence_no) == ("failed_execution", "overloaded", MODEL_STEP)
    assert "after 3 attempts" in view.error
    assert attempts(session) == [("failed", "overloaded")] * 3
    messages = SessionMessage.objects.filter(session=session, type="attempt").order_by("seq")
    assert [(row.body["attempt"]["attempt"], row.body["attempt"]["status"]) for row in messages] == [
        (number, status) for number in (1, 2, 3) for status in ("intended", "failed")
    ]


@pytest.mark.parametrize("retry_after", ["1", "date"])
def test_retry_after_is_respected(server: ProviderServer, retry_after: str) -> None:
    def respond(exchange: Exchange) -> None:
        if len(server.requests) == 1:
            exchange.status(429, "later", retry_after=_http_date(1.9) if retry_after == "date" else retry_after)
        else:
            _good("openai")(exchange)

    server.respond = respond
    session = launch("openai")
    began = time.monotonic()
    runner.execute(session.id)
    assert queries.session_view(session.id).status.startswith("completed")
    assert time.monotonic() - began >= 0.9


@pytest.mark.parametrize("hangs", [True, False])
def test_deadline_ends_calls_and_waits(server: ProviderServer, hangs: bool) -> None:
    let_go = threading.Event()

    def respond(exchange: Exchange) -> None:
        if hangs:
            let_go.wait(HANG_S)
        exchange.status(429, "later", retry_after="30")

    server.respond = respond
    session = launch("openai", budget={"deadline_s": 4})
    runner.execute(session.id)
    let_go.set()
    view, attempt = queries.session_view(session.id), Attempt.objects.get(session=session)
    assert (view.status, view.error_code, attempt.status) == ("failed_execution", "budget_deadline", "failed")
    assert view.ended_at is not None
    assert attempt.retry_at is None or view.ended_at < attempt.retry_at


def _in_thread(session: ReplaySession) -> threading.Thread:
    from django.db import connections

    def run() -> None:
        try:
            runner.execute(session.id)
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def _wait_for_request(server: ProviderServer) -> None:
    wait_until(lambda: bool(server.requests), 20)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("silent", [lambda exchange, protocol: None, _half], ids=["at once", "in the middle"])
def test_cancel_interrupts_silent_provider(
    server: ProviderServer, protocol: str, silent: Callable[[Exchange, str], None]
) -> None:
    let_go = threading.Event()

    def hang(exchange: Exchange) -> None:
        silent(exchange, protocol)
        let_go.wait(HANG_S)
        exchange.handler.close_connection = True

    server.respond = hang
    session = launch(protocol)
    worker = _in_thread(session)
    _wait_for_request(server)
    services.cancel(session.id)
    join(worker, 20)
    let_go.set()
    assert queries.session_view(session.id).status == "cancelled"
    assert attempts(session) == [("failed", "interrupted")]
