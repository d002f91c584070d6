"""Telemetry: ordered delivery to HTTP and files, without delaying replays; all losses are reported."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import InterfaceError, OperationalError
from django.test import Client
from pytest_django import Settings

from replay.execution import runner, task_names
from replay.hooks import telemetry, telemetry_counters
from replay.hooks.configuration import TelemetryEntry
from replay.hooks.telemetry_sinks import FileDelivery, PermanentFailure, Unreachable, create_delivery
from replay.live import providers
from replay.models import TelemetryCount
from replay.sessions import prepare, services
from tests.integration.live.test_hooks import OTHER_ORDER, model
from tests.support.patience import patience_s, wait_until
from tests.support.queues import capture_tasks
from tests.support.replay_runs import order_desk
from tests.support.servers.provider_server import Exchange, ProviderServer, provider_server
from traces.core.json_types import JSONObject
from traces.core.vocabulary import StepType
from traces.importers.files.source import Source
from traces.importers.formats.frameworks import krabs
from traces.models import Run
from traces.runs.services import record

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE)
    monkeypatch.setattr(telemetry, "_FIRST_WAIT_S", 0.005)
    yield
    telemetry.close()


@pytest.fixture
def server(settings: Settings) -> Iterator[ProviderServer]:
    with provider_server(model({"content": "a live answer"})) as running:
        settings.PROVIDERS = {"desk": {"protocol": "openai", "base_url": f"{running.base_url}/v1"}}
        yield running
        providers.close()


def replay(**policy: Any) -> str:
    run = Run.objects.get(id=record(order_desk()).run_id)
    body: Any = {"run": str(run.id), "overrides": {"overrides": [OTHER_ORDER]}, "policy": policy}
    session = services.launch(prepare.parse(body)).id
    runner.execute(session)
    return str(session)


def event(number: int, session: str = "s") -> JSONObject:
    return {"event_type": "turn_end", "timestamp_ms": number, "session_id": session, "payload": {"turn": number}}


def test_replay_events_match_krabs(server: ProviderServer, settings: Settings, tmp_path: Path) -> None:
    with provider_server(lambda exchange: exchange.status(200, {})) as collector:
        settings.TELEMETRY = {
            "http": {"http": {"url": f"{collector.base_url}/events"}},
            "file": {"jsonl": f"{tmp_path}/logs/{{session_id}}.jsonl"},
        }
        session = replay()
        assert telemetry.flush(patience_s(20))
        posted_events = [exchange.body for exchange in collector.requests]
    file_events = [json.loads(line) for line in (tmp_path / "logs" / f"{session}.jsonl").read_text().splitlines()]
    assert file_events == posted_events
    assert [envelope["event_type"] for envelope in posted_events] == [
        "agent_start",
        "turn_start",
        "pre_tool_use",
        "post_tool_use",
        "turn_end",
        "turn_start",
        "live_call",
        "turn_end",
        "turn_start",
        "live_call",
        "turn_end",
        "agent_stop",
    ]
    assert all(
        envelope.keys() == {"event_type", "timestamp_ms", "session_id", "agent_id", "payload"}
        for envelope in posted_events
    )
    call = next(envelope["payload"] for envelope in posted_events if envelope["event_type"] == "live_call")
    names = ("model", "attempt", "status", "tokens_in", "tokens_out", "finish_reason")
    assert [call[name] for name in names] == ["m1", 1, "succeeded", 11, 7, "stop"]
    telemetry.close()
    assert {row.target: (row.sent, row.dropped) for row in TelemetryCount.objects.all()} == {
        "http": (12, 0),
        "file": (12, 0),
    }


def test_failed_attempts_are_numbered(server: ProviderServer, settings: Settings, tmp_path: Path) -> None:
    answers = iter([500, 429])
    good = server.respond

    def respond(exchange: Exchange) -> None:
        status = next(answers, None)
        exchange.status(status, {"error": {"message": "busy"}}) if status else good(exchange)

    server.respond = respond
    settings.TELEMETRY = {"file": {"jsonl": str(tmp_path / "t.jsonl"), "events": ["live_call"]}}
    replay(retries={"max": 3, "initial_s": 0.01})
    assert telemetry.flush(patience_s(20))
    payloads = [json.loads(line)["payload"] for line in (tmp_path / "t.jsonl").read_text().splitlines()][:3]
    assert [(payload["attempt"], payload["status"], payload["retries"]) for payload in payloads] == [
        (1, "failed", True),
        (2, "failed", True),
        (3, "succeeded", False),
    ]


def test_event_file_imports_as_krabs_run(server: ProviderServer, settings: Settings, tmp_path: Path) -> None:
    settings.TELEMETRY = {"file": {"jsonl": str(tmp_path / "t.jsonl")}}
    replay()
    assert telemetry.flush(patience_s(20))
    (run,) = krabs.parse([Source(name="t.jsonl", data=(tmp_path / "t.jsonl").read_bytes())])
    assert [step.type for step in run.steps].count(StepType.TOOL) == 1
    assert run.status == "completed"


def test_hanging_target_does_not_delay_replay(
    server: ProviderServer, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telemetry, "SESSION_LIMIT_S", 0.1)
    let_go = threading.Event()

    def hang(exchange: Exchange) -> None:
        let_go.wait(600)
        exchange.status(200, {})

    with provider_server(hang) as slow:
        settings.TELEMETRY = {"slow": {"http": {"url": slow.base_url}}}
        replay()
        hanging = len(slow.requests)
        let_go.set()
        telemetry.close(5)
    assert hanging <= 1  # the replay ended while the first event was still under way


class _Place:
    """Raises the given failures in turn, then stores events."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.received_events: list[JSONObject] = []
        self.open = threading.Event()
        self.open.set()

    def send(self, envelopes: Any) -> None:
        self.open.wait(600)
        if self.failures:
            raise self.failures.pop(0)
        self.received_events += envelopes

    def close(self) -> None:
        self.closed = True


def sender(place: _Place, **options: Any) -> telemetry.Sender:
    entry = TelemetryEntry.model_validate({"jsonl": "unused", **options})
    return telemetry.Sender("t", entry, place)


def test_retries_preserve_order() -> None:
    place = _Place(Unreachable("500"), Unreachable("429", 0.0), Unreachable("reset"))
    sending = sender(place, batch=3)
    for number in range(20):
        sending.enqueue(event(number))
    assert sending.flush(patience_s(20))
    sending.close(1)
    assert [envelope["timestamp_ms"] for envelope in place.received_events] == list(range(20))


def test_full_queue_drops_and_reports_events() -> None:
    place = _Place()
    place.open.clear()
    sending = sender(place, queue=5)
    sending.enqueue(event(0))
    wait_until(lambda: not sending._queue, 20)  # the first is under way
    for number in range(1, 11):
        sending.enqueue(event(number))
    place.open.set()
    assert sending.flush(patience_s(20))
    sending.close(1)
    drop_reports = [envelope for envelope in place.received_events if envelope["event_type"] == "events_dropped"]
    assert [envelope["payload"] for envelope in drop_reports] == [{"count": 5}]
    assert [envelope["timestamp_ms"] for envelope in place.received_events if envelope["event_type"] == "turn_end"] == [
        0,
        1,
        2,
        3,
        4,
        5,
    ]
    row = TelemetryCount.objects.get(target="t")
    assert (row.dropped, row.error) == (5, "the queue is full")


def test_unreachable_targets_are_retried_before_drop() -> None:
    place = _Place(PermanentFailure("400"), *[Unreachable("away")] * 3)
    sending = sender(place, retries=2)
    for number in range(3):
        sending.enqueue(event(number))
    assert sending.flush(patience_s(20))
    sending.close(1)
    assert [envelope["timestamp_ms"] for envelope in place.received_events if envelope["event_type"] == "turn_end"] == [
        2
    ]
    assert TelemetryCount.objects.get(target="t").dropped == 2
    assert [
        envelope["payload"] for envelope in place.received_events if envelope["event_type"] == "events_dropped"
    ] == [{"count": 2}]


def test_close_drops_and_counts_leftovers() -> None:
    place = _Place()
    place.open.clear()
    sending = sender(place)
    for number in range(3):
        sending.enqueue(event(number))
    assert sending.close(0.05) is False
    assert TelemetryCount.objects.get(target="t").dropped == 3
    place.open.set()
    # Its thread writes what was sent, and must not do so after the test.
    assert sending.close(patience_s(20)) is True


def test_incomplete_last_line_is_terminated(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"event_type": "cut')
    FileDelivery(str(path)).send([event(1), event(2)])
    lines = path.read_text().splitlines()
    assert [json.loads(line)["timestamp_ms"] for line in lines[1:]] == [1, 2]


def test_session_id_cannot_escape_the_folder(tmp_path: Path) -> None:
    FileDelivery(f"{tmp_path}/in/{{session_id}}.jsonl").send([event(1, "../../x")])
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["....x.jsonl"]


def test_batches_are_posted_as_lists() -> None:
    with provider_server(lambda exchange: exchange.status(204)) as collector:
        entry = TelemetryEntry.model_validate({"http": {"url": collector.base_url}, "batch": 10})
        place = create_delivery(entry)
        place.send([event(1), event(2)])
        place.close()
        assert isinstance(collector.requests[0].body, list)


def test_targets_and_counts_are_listed(settings: Settings, client: Client) -> None:
    settings.HOOKS = {"gate": {"events": ["pre_tool_use"], "matcher": "rm", "gate": True, "answer": {"action": "deny"}}}
    settings.TELEMETRY = {
        "http": {"http": {"url": "http://127.0.0.1:9/", "headers_env": {"Authorization": "NOT_SET_HERE"}}}
    }
    TelemetryCount.objects.create(target="http", sent=3, dropped=1, error="away")
    listing = client.get("/api/v1/hooks").json()
    assert listing["hooks"][0]["gate"] is True
    target = listing["targets"][0]
    assert (target["sent"], target["dropped"], target["error"]) == (3, 1, "away")
    assert target["problem"] == "the environment variable NOT_SET_HERE is not set"


def test_sender_survives_unexpected_errors(tmp_path: Path) -> None:
    FileDelivery(str(tmp_path / "t.jsonl")).send([{**event(1), "payload": {"n": 2**70}}])
    assert json.loads((tmp_path / "t.jsonl").read_text())["payload"] == {"n": 2**70}
    place = _Place(ValueError("a mistake"))
    sending = sender(place)
    sending.enqueue(event(1))
    sending.enqueue(event(2))
    assert sending.flush(patience_s(20))
    sending.close(1)
    assert [envelope["timestamp_ms"] for envelope in place.received_events if envelope["event_type"] == "turn_end"] == [
        2
    ]
    assert TelemetryCount.objects.get(target="t").error == "ValueError: a mistake"


@pytest.mark.parametrize("away", [InterfaceError, OperationalError])
def test_counts_survive_database_outage(away: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    write, failures = telemetry_counters._write, iter([away("gone"), away("gone")])

    def write_or_fail(target: str, count: Any) -> None:
        if failure := next(failures, None):
            raise failure
        write(target, count)

    monkeypatch.setattr(telemetry_counters, "_write", write_or_fail)
    place = _Place()
    telling = sender(place)
    for number in range(3):
        telling.enqueue(event(number))
        assert telling.flush(patience_s(20))
    assert telling.close(patience_s(20))
    assert [envelope["timestamp_ms"] for envelope in place.received_events] == [0, 1, 2]
    assert TelemetryCount.objects.get().sent == 3
