"""The thread that indexes sealed runs: it finds work by itself, lets recordings go first, and ends when told to."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from cockpit.process.indexing import IndexerThread
from tests.support.patience import wait_until
from tests.support.recordings import order_run
from traces.models import SearchDocument, UnindexedRun, UsageTotal
from traces.runs import services

pytestmark = pytest.mark.django_db(transaction=True)
LIMIT_S = 30


@pytest.fixture
def indexer() -> Iterator[IndexerThread]:
    """A running indexer, which must not write after the test."""
    thread = IndexerThread()
    thread.start()
    yield thread
    thread.stop()
    assert not thread.is_alive()


def _are_all_indexed() -> bool:
    return not UnindexedRun.objects.exists()


def _record_and_count_totals(name: str) -> int:
    services.record(order_run(name))
    return UsageTotal.objects.count()


@pytest.mark.usefixtures("indexer")
def test_thread_makes_runs_searchable() -> None:
    run_id = services.record(order_run()).run_id
    wait_until(_are_all_indexed, LIMIT_S)
    runs = Client().get("/api/v1/runs", {"q": "parcel"}).json()
    assert ([run["id"] for run in runs["runs"]], len(runs["hits"])) == ([str(run_id)], 1)


@pytest.mark.usefixtures("indexer")
def test_thread_merges_totals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("traces.totals.usage_totals._MIN_ROWS", 1)
    rows = [_record_and_count_totals(f"order-{number}") for number in range(4)]
    wait_until(lambda: UsageTotal.objects.count() == rows[0], LIMIT_S)


def test_stopped_thread_writes_nothing_more(indexer: IndexerThread) -> None:
    services.record(order_run("first"))
    wait_until(_are_all_indexed, LIMIT_S)
    indexer.stop()
    assert not indexer.is_alive()
    services.record(order_run("second"))
    assert (UnindexedRun.objects.count(), SearchDocument.objects.count()) == (1, 1)


def test_error_does_not_end_the_thread(indexer: IndexerThread, monkeypatch: pytest.MonkeyPatch) -> None:
    indexer.after_error_s = 0.01
    failures: list[object] = []

    def fail(documents: object) -> None:
        failures.append(documents)
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr("traces.search.documents.insert", fail)
        services.record(order_run())
        wait_until(lambda: bool(failures), LIMIT_S)
    # As if the clock had been set back by a day meanwhile.
    UnindexedRun.objects.update(leased_until=datetime.now(UTC) + timedelta(days=1))
    wait_until(_are_all_indexed, LIMIT_S)
    assert indexer.is_alive()


@pytest.mark.own_services
@pytest.mark.usefixtures("worker")
def test_celery_worker_runs_the_thread() -> None:
    services.record(order_run())
    wait_until(_are_all_indexed, LIMIT_S)
