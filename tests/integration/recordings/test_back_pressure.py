"""Overload: a client is soon told to send its request again."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing

import pytest
from django.db import connection
from django.test import Client

from cockpit.http.transfer.slow_clients import queue_s, with_queue_time
from tests.support.arriving_spans import request, root
from traces.collectors import back_pressure
from traces.models import Recording

pytestmark = pytest.mark.django_db(transaction=True)
# Clients give up after this time at the earliest.
LIMIT_S = 5


@pytest.fixture(autouse=True)
def _own_queue() -> Iterator[None]:
    yield
    back_pressure.note_queue(0)


@pytest.fixture(autouse=True)
def _new_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(back_pressure, "_REFUSALS", back_pressure._Refusals())


def _status() -> int:
    response = Client().post("/v1/traces", request(root()), content_type="application/json")
    assert response.status_code == 200 or response["Retry-After"] == "1"
    return response.status_code


@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="writers of PostgreSQL do not exclude one another")
def test_database_that_another_process_holds_is_not_waited_for() -> None:
    connection.ensure_connection()
    with closing(sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        start = time.monotonic()
        assert _status() == 503
        assert time.monotonic() - start < LIMIT_S
        other.execute("ROLLBACK")
    assert _status() == 200
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout")
        assert cursor.fetchone() == (20_000,)


def test_request_that_waited_long_for_a_thread_is_refused() -> None:
    back_pressure.note_queue(10)
    assert _status() == 503
    assert not Recording.objects.exists()
    back_pressure.note_queue(0.1)
    assert _status() == 200


def test_refusals_are_no_errors_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    back_pressure.note_queue(10)
    for path in ("/v1/traces", "/api/v1/events", "/api/public/ingestion"):
        for _ in range(3):
            assert Client().post(path, b"{}", content_type="application/json").status_code == 503
    assert [(record.name, record.levelname) for record in caplog.records] == [(back_pressure.__name__, "WARNING")]


def test_client_cannot_state_its_own_time_in_the_queue() -> None:
    own = (b"x-forkpoint-queue-time", b"0")
    scope = with_queue_time({"headers": [own, (b"host", b"here")]})
    ((_, host), (name, value)) = scope["headers"]
    assert (host, name) == (b"here", b"x-forkpoint-queue-time")
    assert 0 <= queue_s({"HTTP_X_FORKPOINT_QUEUE_TIME": value.decode()}) < LIMIT_S
    assert queue_s({}) == 0
