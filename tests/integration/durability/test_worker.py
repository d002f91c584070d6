"""The real worker: threads of this process, or a separate Celery process if distributed."""

import asyncio
import logging
import sqlite3
from contextlib import suppress
from queue import Empty
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest
from django.conf import settings
from django.db import OperationalError
from kombu import Connection
from redis import Redis

from cockpit import asgi
from replay.models import ReplaySession
from replay.sessions import services as replays
from replay.sessions.schemas import ReplayRequest
from tests.services.redis import own_server, redis_url
from tests.support.patience import patience_s, wait_until
from tests.support.recordings import order_run
from traces.runs import services

LIMIT_S = 60


def _wait_for_end(session: ReplaySession) -> ReplaySession:
    def is_compared() -> bool:
        session.refresh_from_db()
        return session.diff_id is not None

    wait_until(is_compared, LIMIT_S, lambda: session.status)
    return session


@pytest.mark.usefixtures("worker")
@pytest.mark.django_db(transaction=True)
def test_worker_runs_and_compares_replay() -> None:
    recording = services.record(order_run())
    session = _wait_for_end(replays.launch(ReplayRequest(run=str(recording.run_id))))
    assert session.status == "completed_exact", session.error


@pytest.mark.django_db(transaction=True)
def test_worker_resumes_work_of_earlier_process(request: pytest.FixtureRequest) -> None:
    recording = services.record(order_run())
    session = replays.launch(ReplayRequest(run=str(recording.run_id)))
    ReplaySession.objects.filter(id=session.id).update(status="running", owner="gone:1:1", heartbeat_at=None)
    request.getfixturevalue("worker")  # only now: it would have taken the session before it was left behind
    replays.requeue_unfinished()
    assert _wait_for_end(session).status == "completed_exact"


@pytest.mark.own_services
def test_redis_failure_frees_prefetch_slot() -> None:
    server = own_server()
    broker = Connection(server.url, transport_options=settings.CELERY_BROKER_TRANSPORT_OPTIONS)
    queue = broker.SimpleQueue("work")
    queue.consumer.qos(prefetch_count=1)
    channel: Any = queue.channel  # its stubs know no limit
    queue.put("the first")
    message = queue.get(timeout=patience_s(5))
    assert not channel.qos.can_consume()
    server.kill()
    message.ack_log_error(logging.getLogger(), broker.connection_errors)  # as Celery does it
    assert channel.qos.can_consume()


@pytest.mark.own_services
def test_foreign_messages_do_not_end_a_worker() -> None:
    """Kombu raises out of the worker's loop for each of them."""
    address = redis_url()
    options = settings.CELERY_BROKER_TRANSPORT_OPTIONS
    broker = Connection(address, transport=settings.CELERY_BROKER_TRANSPORT, transport_options=options)
    queue = broker.SimpleQueue("shared")
    foreign_messages = [b"no JSON", b"\xff", b"null", b"[]", b'"text"', b"{}"]
    Redis.from_url(address).lpush("shared", *foreign_messages)
    queue.put("ours")

    def take() -> Any:
        with suppress(Empty):
            return queue.get(timeout=1)

    message = wait_until(take, LIMIT_S)
    message.ack()
    broker.close()
    assert message.payload == "ours"
    assert settings.CELERY_TASK_DEFAULT_QUEUE != "celery"


def test_a_start_on_a_full_disk_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "EMBEDDED", True)
    full = OperationalError("database or disk is full")
    full.__cause__ = sqlite3.OperationalError()
    full.__cause__.sqlite_errorcode = sqlite3.SQLITE_FULL
    monkeypatch.setattr("cockpit.asgi._Worker.start", Mock(side_effect=full))
    send = AsyncMock()
    asyncio.run(asgi.lifespan({}, AsyncMock(return_value={"type": "lifespan.startup"}), send))
    message = "the disk of the server's database is full."
    send.assert_awaited_once_with({"type": "lifespan.startup.failed", "message": message})
