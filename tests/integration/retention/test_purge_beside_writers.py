"""A purge deletes nothing that a writer uses, whatever the order of their statements, and even if it is killed."""

import os
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from itertools import count
from uuid import UUID

import pytest
from django.core.files.storage import storages
from django.db import connection, connections, transaction

from cockpit.process import purging
from tests.support.lost_artifacts import large_artifacts
from tests.support.patience import patience_s
from tests.support.recordings import order_run
from traces.core.ids import new_id
from traces.core.vocabulary import AuditAction
from traces.errors import StoreBusy
from traces.models import Artifact, AuditEntry, Run
from traces.retention import deletions, policies, purge, removal, unused_files
from traces.retention.policies import PolicyTerms
from traces.runs import services
from traces.storage import artifact_files, integrity, packs, sweep

pytestmark = pytest.mark.django_db(transaction=True)
SECONDS = 1.5
# One part lies in the artifact storage.
LARGE = "".join(str(new_id()) for _ in range(20_000))


def record(number: int) -> UUID:
    """Record a run that shares most of its parts, and a large one, with the others."""
    run = order_run(f"order-{number}")
    steps = tuple(replace(step, attributes={"log": LARGE, "n": number % 3}) for step in run.steps)
    return services.record(replace(run, steps=steps)).run_id


def in_thread(act: Callable[[], None]) -> threading.Thread:
    """Start `act` in a thread with its own connection."""

    def run() -> None:
        try:
            act()
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def delete_at_once(run_id: UUID) -> None:
    deletions.delete([run_id], by="test", at_once=True)


def lost_artifacts() -> list[str]:
    return [artifact.digest for artifact in integrity.check_store().lost_artifacts]


def test_writers_race_with_purges() -> None:
    end, limit = (time.monotonic() + seconds for seconds in (SECONDS, patience_s(60)))
    written: list[UUID] = []
    counts = dict.fromkeys(range(4), 0)

    def is_racing() -> bool:
        """For some seconds, and on a busy machine until everyone had a turn."""
        now = time.monotonic()
        return now < end or (min(counts.values()) == 0 and now < limit)

    def write(worker: int) -> None:
        try:
            while is_racing():
                written.append(record(worker * 1_000_000 + counts[worker]))
                counts[worker] += 1
        finally:
            connections.close_all()

    def remove(worker: int) -> None:
        dice = random.Random(worker)
        try:
            while is_racing():
                if len(written) > 2:
                    delete_at_once(written.pop(dice.randrange(len(written))))
                    counts[worker] += 1
                purge.remove_due()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda job: job[0](job[1]), [(write, 0), (remove, 1), (write, 2), (remove, 3)]))
    assert min(counts.values()) > 0
    purge.remove_due()
    assert lost_artifacts() == []
    assert Run.objects.count() == len(written)
    for run_id in written:
        delete_at_once(run_id)
    purge.remove_due()
    assert not Artifact.objects.exists()


@pytest.mark.own_services
def test_sweep_skips_artifacts_that_an_open_transaction_reuses() -> None:
    first = record(1)
    delete_at_once(first)
    removal.remove_due()
    is_written, may_commit = threading.Event(), threading.Event()

    def write() -> None:
        with transaction.atomic():
            record(1)
            is_written.set()
            may_commit.wait(30)

    writer = in_thread(write)
    assert is_written.wait(30)
    try:
        sweep.sweep()
    finally:
        may_commit.set()
        writer.join()
    assert lost_artifacts() == []


@pytest.mark.own_services
def test_writer_waits_for_a_sweep_and_stores_again(monkeypatch: pytest.MonkeyPatch) -> None:
    first = record(1)
    (path,) = large_artifacts().values()
    delete_at_once(first)
    removal.remove_due()
    second: list[UUID] = []
    # Files are deleted only after the commit.
    monkeypatch.setattr(sweep, "delete_files", lambda: None)
    with transaction.atomic():
        sweep.sweep()
        writer = in_thread(lambda: second.append(record(1)))
        time.sleep(0.5)
        assert not second
    writer.join()
    monkeypatch.undo()
    sweep.sweep()
    assert Run.objects.filter(id__in=second).exists()
    assert lost_artifacts() == []
    assert artifact_files.read(path) is not None


def test_file_of_a_crashed_sweep_is_deleted_later_or_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    run_id = record(1)
    (path,) = large_artifacts().values()
    delete_at_once(run_id)
    monkeypatch.setattr(sweep, "delete_files", _crash)
    with pytest.raises(ConnectionError):
        purge.remove_due()
    monkeypatch.undo()
    assert not Artifact.objects.exists()
    assert artifact_files.read(path)
    second = record(2)
    sweep.delete_files()
    assert artifact_files.read(path)
    assert lost_artifacts() == []
    delete_at_once(second)
    purge.remove_due()
    assert artifact_files.read(path) is None


def test_one_of_two_processes_applies_the_policies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both look at the same moment when they were last applied."""
    policies.set_policy(PolicyTerms(days=1), by="ada")
    both = threading.Barrier(2)
    newest_purge = purge.newest_purge

    def look() -> datetime | None:
        newest = newest_purge()
        with suppress(threading.BrokenBarrierError):
            both.wait(1)
        return newest

    monkeypatch.setattr(purge, "newest_purge", look)
    for thread in [in_thread(purging.purge_due) for _ in range(2)]:
        thread.join(patience_s(30))
    assert AuditEntry.objects.filter(action=AuditAction.PURGE).count() == 1


def _crash() -> None:
    raise ConnectionError


def file_of_failed_transaction() -> str:
    with suppress(ZeroDivisionError), transaction.atomic():
        record(1)
        (path,) = large_artifacts().values()
        raise ZeroDivisionError
    return path


def _age(path: str) -> None:
    """Let a file be two days old."""
    os.utime(storages["artifacts"].path(path), (time.time() - 2 * 86_400,) * 2)


def test_files_of_failed_transactions_are_removed() -> None:
    path = file_of_failed_transaction()
    assert unused_files.find() == []
    _age(path)
    assert unused_files.find() == [path]
    assert unused_files.remove() == 1
    assert artifact_files.read(path) is None
    record(1)
    _age(path)
    assert (unused_files.remove(), lost_artifacts()) == (0, [])


def test_file_that_a_writer_takes_over_stays() -> None:
    """Its transaction ends while the file is looked at: the file is old, and no row names it yet."""
    path = file_of_failed_transaction()
    _age(path)
    counts: list[int] = []
    with transaction.atomic():
        record(1)
        remover = in_thread(lambda: counts.append(unused_files.remove()))
        remover.join(0.5)
        assert counts == []
    remover.join(patience_s(30))
    assert (counts, lost_artifacts()) == ([0], [])


def _is_awaited() -> bool:
    """Return whether somebody waits for a lock that is shared now."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND NOT granted")
        return bool(cursor.rowcount)


@pytest.mark.skipif(connection.vendor == "sqlite", reason="has one writer at a time")
def test_files_are_removed_while_writers_take_turns() -> None:
    """Each ends once the next one has begun, which it cannot do while a removal waits."""
    path = file_of_failed_transaction()
    _age(path)
    turns = count(1)
    latest = 0
    is_over = threading.Event()

    def take_turns() -> None:
        nonlocal latest
        while not is_over.is_set():
            with transaction.atomic():
                packs._share_files()
                latest = turn = next(turns)
                while latest == turn and not _is_awaited() and not is_over.is_set():
                    time.sleep(0.01)

    counts: list[int] = []
    writers = [in_thread(take_turns) for _ in range(2)]
    remover = in_thread(lambda: counts.append(unused_files.remove()))
    remover.join(patience_s(5))
    was_removed = counts == [1]
    is_over.set()
    for thread in (*writers, remover):
        thread.join(patience_s(30))
    assert (latest > 1, was_removed) == (True, True)


@pytest.mark.skipif(connection.vendor == "sqlite", reason="has one writer at a time")
def test_removal_gives_up_beside_a_long_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    path = file_of_failed_transaction()
    _age(path)
    monkeypatch.setattr(unused_files, "_PATIENCE_S", 0.0)
    monkeypatch.setattr(unused_files, "_PAUSE_S", 0.0)
    storing, over = threading.Event(), threading.Event()

    def store() -> None:
        with transaction.atomic():
            record(2)
            storing.set()
            over.wait(patience_s(30))

    writer = in_thread(store)
    assert storing.wait(patience_s(30))
    with pytest.raises(StoreBusy, match="others keep storing files"):
        unused_files.remove()
    over.set()
    writer.join(patience_s(30))
    assert lost_artifacts() == []
