"""Session leases: claims, heartbeats, takeovers, and rejected writes of former owners."""

import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, connections
from pytest_django import Settings

from replay import tasks
from replay.execution import leases, runner, task_names
from replay.execution.derived_run.checkpoints import Checkpoints
from replay.live import providers, shutdown
from replay.models import Attempt, ReplaySession
from replay.sessions import prepare, queries, services
from replay.tool_review import services as tool_review_services
from tests.support.patience import join, wait_until
from tests.support.queues import capture_tasks
from tests.support.replay_runs import Reply, ToolCall, order_desk
from tests.support.servers.provider_server import Exchange, ProviderServer, openai_text, provider_server
from traces.models import Run, Step
from traces.runs.services import record

pytestmark = pytest.mark.django_db(transaction=True)
TAKEOVER_S = 15.0
# A provider that does not answer: longer than every wait of a test.
HANG_S = 600.0
END_S = 20.0
ORDER = "get_order"


@pytest.fixture(autouse=True)
def _no_queue(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Iterator[None]:
    """Disable the queue: the tests run sessions themselves."""
    settings.TAKEOVER_S = TAKEOVER_S
    # Nothing answers there: for replays that are launched and not executed.
    settings.PROVIDERS = {"desk": {"protocol": "openai", "base_url": "http://127.0.0.1:9/v1"}}
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE)
    yield
    shutdown.reset()


@pytest.fixture
def server(settings: Settings) -> Iterator[ProviderServer]:
    with provider_server(openai_text("Live ", "answer.")) as running:
        base_url, limit = running.base_url, {"timeout_s": HANG_S}
        settings.PROVIDERS = {"desk": {"protocol": "openai", "base_url": f"{base_url}/v1", **limit}}
        settings.TOOLS = {ORDER: {"http": {"url": f"{base_url}/orders"}, "idempotent": False, **limit}}
        tool_review_services.decide({ORDER: True}, author="ada")
        yield running
        providers.close()


def launch(allow: str = "model", **retries: Any) -> ReplaySession:
    """Launch a session with one live model call at step 3, or one live tool call at step 4."""
    turns = (ToolCall(ORDER, {"order_id": "A-1"}, {"status": "lost"}), Reply("It is lost."))
    run = Run.objects.get(id=record(order_desk([("Where is it?", turns)])).run_id)
    policy = {"allow": [allow], "order": "reexecute", "retries": {"max": 2, "initial_s": 0.01, **retries}}
    body: Any = {"run": str(run.id), "policy": policy}
    return services.launch(prepare.parse(body))


def in_thread(session: ReplaySession) -> threading.Thread:
    def run() -> None:
        try:
            runner.execute(session.id)
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def wait_for(server: ProviderServer, requests: int = 1) -> None:
    wait_until(lambda: len(server.requests) >= requests, END_S)


def status(session: ReplaySession) -> str:
    session.refresh_from_db()
    return session.status


class Everyone(leases.Observer):
    """Treats every worker as dead."""

    def find_abandoned(self) -> list[leases.Claim]:
        running = ReplaySession.objects.filter(status="running").values_list("id", "owner")
        return [leases.Claim(session_id=id, owner=owner) for id, owner in running]


@pytest.mark.skipif(connection.vendor == "sqlite", reason="has one writer at a time")
def test_cancelling_does_not_wait_for_the_worker_that_ends_the_run() -> None:
    session = launch()
    leases.claim(session.id, leases.new_owner())
    worker = connection.copy()
    worker.set_autocommit(False)
    try:
        with worker.cursor() as cursor, connection.cursor() as limit:
            cursor.execute("SELECT FROM traces_run FOR UPDATE")
            limit.execute("SET lock_timeout = '1s'")
            assert services.cancel(session.id).cancel_requested
            limit.execute("RESET lock_timeout")
    finally:
        worker.rollback()
        worker.close()


def test_only_one_worker_claims_a_session(server: ProviderServer) -> None:
    session = launch()
    workers = [in_thread(session) for _ in range(6)]
    for worker in workers:
        worker.join()
    assert status(session).startswith("completed")
    assert len(server.requests) == Attempt.objects.count() == 1


def test_only_pending_sessions_are_claimed() -> None:
    session = launch()
    assert [leases.claim(session.id, owner) for owner in ("first", "second")] == [True, False]
    ReplaySession.objects.filter(id=session.id).update(status="cancelled")
    assert not leases.claim(session.id, "third")
    assert (status(session), session.owner) == ("cancelled", "first")


@pytest.mark.parametrize("hours", [-5, 0, 5])
def test_clock_skew_does_not_kill_workers(hours: int) -> None:
    session, now = launch(), [0.0]
    assert leases.claim(session.id, "elsewhere:p:1:1:x")
    observer = leases.Observer(clock=lambda: now[0])
    for beat in range(10):
        at = datetime.now(UTC) + timedelta(hours=hours, seconds=beat)
        ReplaySession.objects.filter(id=session.id).update(heartbeat_at=at)
        now[0] += TAKEOVER_S - 1
        assert observer.find_abandoned() == []


def test_observer_abandons_silent_workers_after_timeout() -> None:
    session, now = launch(), [0.0]
    assert leases.claim(session.id, "elsewhere:p:1:1:x")
    observer = leases.Observer(clock=lambda: now[0])
    assert observer.find_abandoned() == []
    now[0] += TAKEOVER_S - 1
    assert observer.find_abandoned() == []
    observer.forget()
    now[0] += TAKEOVER_S - 1
    assert observer.find_abandoned() == []
    now[0] += TAKEOVER_S + 1
    assert [claim.session_id for claim in observer.find_abandoned()] == [session.id]


def test_second_observer_respects_new_owner() -> None:
    session = launch()
    assert leases.claim(session.id, "old")
    (abandoned_claim,) = Everyone().find_abandoned()
    assert leases.release(abandoned_claim)
    assert leases.claim(session.id, "new")
    assert not leases.release(abandoned_claim)
    assert status(session) == "running"
    assert session.owner == "new"


def test_worker_without_lease_writes_nothing(server: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> None:
    session = launch()

    room_for = Checkpoints.room_for

    def take_session(checkpoints: Checkpoints, count: int) -> int:
        ReplaySession.objects.filter(id=session.id).update(owner="another")
        return room_for(checkpoints, count)

    monkeypatch.setattr(Checkpoints, "room_for", take_session)
    runner.execute(session.id)
    assert status(session) == "running"
    assert (session.owner, session.checkpoint_no, Step.objects.filter(run=session.run).count()) == ("another", 0, 0)


def test_session_that_crashes_workers_is_given_up() -> None:
    session = launch()
    for number in range(11):
        assert leases.claim(session.id, f"worker {number}")
        services.take_over(Everyone())
    assert status(session) == "failed_execution"
    assert session.error_code == "worker_lost"


def test_shutdown_abandons_hanging_call(server: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutdown, "GRACE_S", 0.2)
    let_go, answer = threading.Event(), server.respond
    server.respond = lambda exchange: _hang(exchange, let_go)
    session = launch()
    worker = in_thread(session)
    wait_for(server)
    shutdown.request()
    join(worker, END_S)
    assert (status(session), session.owner, session.lost_workers) == ("pending", "", 0)
    shutdown.reset()
    let_go.set()
    server.respond = answer
    runner.execute(session.id)
    assert status(session).startswith("completed")
    assert list(Attempt.objects.filter(sequence_no=3).values_list("status", "error_code").order_by("attempt")) == [
        ("failed", "interrupted"),
        ("succeeded", ""),
    ]


def test_takeover_abandons_hanging_call(server: ProviderServer) -> None:
    let_go = threading.Event()
    server.respond = lambda exchange: _hang(exchange, let_go)
    session = launch()
    worker = in_thread(session)
    wait_for(server)
    ReplaySession.objects.filter(id=session.id).update(owner="another")
    join(worker, END_S)
    assert (status(session), session.owner) == ("running", "another")
    let_go.set()


@pytest.mark.parametrize("clock_change", [timedelta(0), timedelta(minutes=-5)])
def test_retry_wait_survives_worker_crash(server: ProviderServer, clock_change: timedelta) -> None:
    answer = server.respond
    server.respond = lambda exchange: exchange.status(429, "later", retry_after="30")
    session = launch()
    worker = in_thread(session)
    wait_until(lambda: Attempt.objects.filter(retry_at__isnull=False).exists(), END_S)
    services.take_over(Everyone())
    join(worker, END_S)
    server.respond = answer
    second = timedelta(seconds=1)
    due = datetime.now(UTC) + second
    # Most of the wait is over.
    Attempt.objects.update(started_at=due - second - clock_change, retry_at=due - clock_change)
    runner.execute(session.id)
    assert status(session).startswith("completed")
    assert due <= Attempt.objects.get(sequence_no=3, attempt=2).started_at < due + timedelta(minutes=5)


def test_next_worker_respects_final_failure(server: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.respond = lambda exchange: exchange.status(400, "no")
    session = launch()
    really = Checkpoints.fail
    monkeypatch.setattr(Checkpoints, "fail", _dies)
    with pytest.raises(KeyboardInterrupt):
        runner.execute(session.id)
    monkeypatch.setattr(Checkpoints, "fail", really)
    services.take_over(Everyone())
    runner.execute(session.id)
    assert (status(session), session.error_code, len(server.requests)) == ("failed_execution", "bad_request", 1)


def _hang(exchange: Exchange, let_go: threading.Event) -> None:
    let_go.wait(HANG_S)
    exchange.handler.close_connection = True


def _dies(*_: Any) -> None:
    raise KeyboardInterrupt


def test_late_answer_withdraws_operator_question(server: ProviderServer) -> None:
    let_go = threading.Event()

    def late(exchange: Exchange) -> None:
        let_go.wait(HANG_S)
        exchange.status(200, {"status": "found"})

    server.respond = late
    session = launch("tool")
    slow = in_thread(session)
    wait_for(server)
    services.take_over(Everyone())
    runner.execute(session.id)
    assert status(session) == "awaiting_operator"
    time.sleep(1.0)  # the worker looks whether the call is still wanted
    let_go.set()
    join(slow, END_S)
    assert (status(session), session.question) == ("pending", None)
    runner.execute(session.id)
    assert status(session).startswith("completed")
    assert Step.objects.get(run=session.run, tool_name=ORDER).reason == "live_tool_call"
    assert len(server.requests) == 1


def test_concurrent_model_call_is_stored_once(server: ProviderServer) -> None:
    let_go, answer = threading.Event(), server.respond

    def slow(exchange: Exchange) -> None:
        let_go.wait(HANG_S)
        answer(exchange)

    server.respond = slow
    session = launch()
    first = in_thread(session)
    wait_for(server)
    server.respond = answer
    services.take_over(Everyone())
    runner.execute(session.id)
    let_go.set()
    join(first, END_S)
    assert status(session).startswith("completed")
    assert list(Attempt.objects.filter(sequence_no=3).values_list("status", flat=True).order_by("attempt")) == [
        "failed",
        "succeeded",
    ]


@pytest.mark.parametrize("idempotent", [True, False])
def test_cancel_interrupts_hanging_tool(server: ProviderServer, settings: Settings, idempotent: bool) -> None:
    settings.TOOLS[ORDER]["idempotent"] = idempotent
    let_go = threading.Event()
    server.respond = lambda exchange: _hang(exchange, let_go)
    session = launch("tool")
    worker = in_thread(session)
    wait_for(server)
    services.cancel(session.id)
    join(worker, END_S)
    let_go.set()
    assert status(session) == "cancelled"
    code = "interrupted" if idempotent else "unknown_outcome"
    assert list(Attempt.objects.values_list("status", "error_code")) == [("failed", code)]


def test_requeue_skips_queued_work(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = capture_tasks(monkeypatch, task_names.EXECUTE)
    waiting = {str(launch().id) for _ in range(3)}
    queue.clear()
    assert services.requeue_unfinished(queue_length=3) == 0
    assert services.requeue_unfinished(queue_length=2) == 3
    assert set(queue) == waiting


def test_overdue_comparisons_are_requeued(server: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> None:
    session = launch()
    runner.execute(session.id)  # and the worker ends before it queues the comparison
    queue = capture_tasks(monkeypatch, task_names.COMPARE)
    services.requeue_unfinished()
    assert queue == []  # it may be at work
    long_ago = datetime.now(UTC) - timedelta(seconds=5 * TAKEOVER_S)
    ReplaySession.objects.update(heartbeat_at=long_ago)
    for _ in range(2):
        services.requeue_unfinished()
    assert queue == [str(session.id)]
    ReplaySession.objects.update(heartbeat_at=long_ago)
    tasks.compare(queue.pop())
    services.requeue_unfinished()
    assert queue == []
    assert queries.session_view(session.id).diff is not None
