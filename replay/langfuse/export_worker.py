"""Exports of runs to Langfuse: rows first, then worked off by any worker, from the cursor that the row holds."""

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import F, Q, QuerySet

from replay.core.vocabulary import ExportStatus
from replay.execution import leases
from replay.execution.observers import SessionObserver
from replay.execution.task_names import EXPORT_LANGFUSE
from replay.hooks import configuration
from replay.langfuse import run_reader
from replay.langfuse.client import Away, Langfuse, Receipt, TooLarge
from replay.langfuse.core.events import MOST_BYTES, Event
from replay.live import shutdown
from replay.models import LangfuseExport
from traces import enqueue as traces_enqueue
from traces import notify
from traces.models import Run
from traces.transitions import move

logger = structlog.get_logger("replay.langfuse")
_UNFINISHED: Final = tuple(status for status in ExportStatus if not status.is_final)
_MOST_EVENTS: Final = 100  # of one request
_TRIES: Final = 5  # in one go
_FIRST_WAIT_S: Final = 0.5
_LONGEST_WAIT_S: Final = 30.0
_MOST_FAILURES: Final = 20  # goes in a row, over about four hours
_SHORTEST_PAUSE_S: Final = 15.0
_LONGEST_PAUSE_S: Final = 900.0
_UNTAKEN: Final = timedelta(minutes=1)  # after which a queued export that nobody took is queued again
_SILENT: Final = timedelta(minutes=3)  # longer than any one request with its wait


class _NotMine(Exception):
    """Another worker has the export by now."""


class _Paused(Exception):
    """To be gone on with later."""


def enqueue(run_id: UUID, target: str) -> LangfuseExport:
    """Ask for an export; one of this run that is under way already is answered instead."""
    with transaction.atomic():
        waiting = LangfuseExport.objects.filter(run_id=run_id, target=target, status__in=_UNFINISHED).first()
        if waiting is not None:
            return waiting
        again = datetime.now(UTC) + _UNTAKEN
        made = LangfuseExport.objects.create(run_id=run_id, target=target, retry_at=again)
        transaction.on_commit(partial(traces_enqueue.send, EXPORT_LANGFUSE, made.id))
    return made


class ExportObserver(SessionObserver):
    """Asks for the export of a finished replay to every target that wants replays."""

    def run_sealed(self, run_id: UUID) -> None:
        for name, place in configuration.langfuse_targets().items():
            if place.replays:
                enqueue(run_id, name)


def requeue_unfinished() -> int:
    """Queue what is due and in nobody's hands; how many. Queued twice is harmless."""
    now = datetime.now(UTC)
    running = LangfuseExport.objects.filter(status=ExportStatus.RUNNING)
    lost = [row.id for row in running if _silent(row, now) or leases.is_dead(row.owner)]
    move(LangfuseExport.objects.filter(id__in=lost), ExportStatus.RUNNING, ExportStatus.PENDING, owner="")
    due = LangfuseExport.objects.filter(Q(retry_at=None) | Q(retry_at__lte=now), status=ExportStatus.PENDING)
    found = list(due.values_list("id", flat=True))
    # A queue that is long keeps each of them once a minute, not once for every look.
    LangfuseExport.objects.filter(id__in=found, status=ExportStatus.PENDING).update(retry_at=now + _UNTAKEN)
    for export in found:
        traces_enqueue.send(EXPORT_LANGFUSE, export)
    return len(found)


def _silent(row: LangfuseExport, now: datetime) -> bool:
    return now - (row.heartbeat_at or row.created_at) > _SILENT


def work(export_id: UUID) -> None:
    """Go on with an export from its cursor; one that is in other hands, or done, is left alone."""
    owner = leases.new_owner()
    now = datetime.now(UTC)
    asked = LangfuseExport.objects.filter(id=export_id)
    if not move(asked, ExportStatus.PENDING, ExportStatus.RUNNING, owner=owner, heartbeat_at=now, retry_at=None):
        return
    row = LangfuseExport.objects.select_related("run").get(id=export_id)
    try:
        _Export(row, owner).run()
    except _NotMine:
        logger.info("export_taken_over", export=str(export_id))
    except _Paused as paused:
        _leave(row, owner, str(paused))
    except Away as away:
        _end(row, owner, ExportStatus.FAILED, str(away))
    except Exception as error:
        # Whatever it was: the export is tried again later, and not for ever.
        _leave(row, owner, f"{type(error).__name__}: {error}")
        raise


class _Export:
    """One go at one export."""

    def __init__(self, row: LangfuseExport, owner: str) -> None:
        self.row = row
        self.owner = owner
        place = configuration.langfuse_targets().get(row.target)
        if place is None:
            raise Away(f"the target {row.target!r} is not configured any more", lasting=True)
        self.langfuse = Langfuse(place)

    def run(self) -> None:
        try:
            for batch in _batches(run_reader.events(self.row.run, after=self.row.done_events)):
                self._deliver(batch)
        finally:
            self.langfuse.close()
        _end(self.row, self.owner, ExportStatus.DONE, self.row.error)

    def _deliver(self, batch: Sequence[Event]) -> None:
        """Every event of a batch is acknowledged, or refused for good, before the next batch goes out."""
        left = list(batch)
        rejected: dict[str, str] = {}
        for attempt in range(_TRIES):
            self._mine(heartbeat_at=datetime.now(UTC))
            if shutdown.is_requested():
                raise _Paused("")
            try:
                receipt = self._sent(left)
            except Away as away:
                if away.lasting:
                    raise
                self._wait(away, attempt)
                continue
            rejected |= receipt.rejected
            left = [event for event in left if event.id in receipt.again]
            if not left:
                self._acknowledged(batch, rejected)
                return
            self._wait(Away(f"{len(left)} events were not taken yet"), attempt)
        raise _Paused("Langfuse did not take the events")

    def _sent(self, events: Sequence[Event]) -> Receipt:
        """A batch that the server finds too large goes in halves."""
        try:
            return self.langfuse.send(events)
        except TooLarge:
            if len(events) == 1:
                return Receipt(rejected={events[0].id: "413 too large for this server"})
            half = len(events) // 2
            first, second = self._sent(events[:half]), self._sent(events[half:])
            return Receipt(
                taken=first.taken | second.taken,
                again=first.again | second.again,
                rejected={**first.rejected, **second.rejected},
            )

    def _acknowledged(self, batch: Sequence[Event], rejected: dict[str, str]) -> None:
        """Move the cursor."""
        columns: dict[str, object] = {
            "done_events": F("done_events") + len(batch),
            "rejected": F("rejected") + len(rejected),
            "cut": F("cut") + sum(len(event.cut) for event in batch),
            "failures": 0,
        }
        if rejected:
            self.row.error = next(iter(rejected.values()))
            columns["error"] = self.row.error
        self._mine(**columns)

    def _wait(self, away: Away, attempt: int) -> None:
        if attempt == _TRIES - 1:
            raise _Paused(str(away)) from away
        asked = away.retry_after_s
        seconds = min(_FIRST_WAIT_S * 2**attempt if asked is None else asked, _LONGEST_WAIT_S)
        logger.warning("export_waits", export=str(self.row.id), why=str(away), seconds=seconds)
        time.sleep(seconds)

    def _mine(self, **columns: object) -> None:
        if not _held(self.row, self.owner).filter(status=ExportStatus.RUNNING).update(**columns):
            raise _NotMine


def _batches(events: Iterator[Event]) -> Iterator[list[Event]]:
    batch: list[Event] = []
    size = 0
    for event in events:
        if batch and (len(batch) == _MOST_EVENTS or size + event.size > MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(event)
        size += event.size
    if batch:
        yield batch


def _leave(row: LangfuseExport, owner: str, why: str) -> None:
    """Put an export back; after too many failures in a row it has failed."""
    row.refresh_from_db()
    if not why:
        _pause(row, owner)
        return
    failures = row.failures + 1
    if failures >= _MOST_FAILURES:
        _end(row, owner, ExportStatus.FAILED, f"{why} (given up after {failures} attempts)")
        return
    pause = min(_SHORTEST_PAUSE_S * 2 ** (failures - 1), _LONGEST_PAUSE_S)
    _pause(row, owner, error=why, failures=failures, retry_at=datetime.now(UTC) + timedelta(seconds=pause))
    _touch(row.run)


def _pause(row: LangfuseExport, owner: str, **columns: object) -> None:
    move(_held(row, owner), ExportStatus.RUNNING, ExportStatus.PENDING, owner="", **columns)


def _end(row: LangfuseExport, owner: str, status: ExportStatus, error: str) -> None:
    move(_held(row, owner), ExportStatus.RUNNING, status, owner="", error=error, ended_at=datetime.now(UTC))
    if status == ExportStatus.FAILED:
        logger.warning("export_failed", export=str(row.id), why=error)
    _touch(row.run)


def _held(row: LangfuseExport, owner: str) -> QuerySet[LangfuseExport]:
    return LangfuseExport.objects.filter(id=row.id, owner=owner)


def _touch(run: Run) -> None:
    with transaction.atomic():
        notify.touch("runs")
