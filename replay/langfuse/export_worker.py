"""Exports of runs to Langfuse: queued as rows, and processed by any worker from the row's cursor on."""

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
from replay.langfuse.client import Langfuse, Receipt, TooLarge, Unavailable
from replay.langfuse.core.events import MOST_BYTES, Event
from replay.live import shutdown
from replay.models import LangfuseExport
from traces import enqueue as traces_enqueue
from traces import notify
from traces.audit import audit_log
from traces.core.vocabulary import AuditAction
from traces.models import Run
from traces.runs import deleted_runs
from traces.transitions import move

logger = structlog.get_logger("replay.langfuse")
_OPEN_STATUSES: Final = tuple(status for status in ExportStatus if not status.is_final)
_MOST_EVENTS: Final = 100  # per request
_TRIES: Final = 5  # per batch, before the export is paused
_FIRST_WAIT_S: Final = 0.5
_LONGEST_WAIT_S: Final = 30.0
_MOST_FAILURES: Final = 20  # consecutive pauses, over about four hours
_SHORTEST_PAUSE_S: Final = 15.0
_LONGEST_PAUSE_S: Final = 900.0
# Time after which a queued export that no worker has claimed is queued again.
_REQUEUE_DELAY: Final = timedelta(minutes=1)
# Longer than any single request with its wait.
_SILENT: Final = timedelta(minutes=3)


class _LostOwnership(Exception):
    """Another worker owns the export by now."""


class _Pause(Exception):
    """The export pauses and continues later."""


def enqueue(run_id: UUID, target: str, *, by: str = "") -> LangfuseExport:
    """Queue an export; returns the open export of this run and target, if there is one."""
    with transaction.atomic():
        deleted_runs.hold([run_id])
        open_export = LangfuseExport.objects.filter(run_id=run_id, target=target, status__in=_OPEN_STATUSES).first()
        if open_export is not None:
            return open_export
        retry_at = datetime.now(UTC) + _REQUEUE_DELAY
        export = LangfuseExport.objects.create(run_id=run_id, target=target, retry_at=retry_at)
        audit_log.append(AuditAction.RUN_EXPORTED, run_id, by=by, to=target)
        transaction.on_commit(partial(traces_enqueue.send, EXPORT_LANGFUSE, export.id))
    return export


class ExportObserver(SessionObserver):
    """Queues the export of every finished replay to the targets that are configured for it."""

    def run_sealed(self, run_id: UUID) -> None:
        for name, place in configuration.langfuse_targets().items():
            if place.replays:
                enqueue(run_id, name)


def requeue_unfinished() -> int:
    """Queue all due exports without an owner; returns their number. Queueing twice is harmless."""
    now = datetime.now(UTC)
    running = LangfuseExport.objects.filter(status=ExportStatus.RUNNING)
    abandoned_ids = [row.id for row in running if _silent(row, now) or leases.is_dead(row.owner)]
    move(LangfuseExport.objects.filter(id__in=abandoned_ids), ExportStatus.RUNNING, ExportStatus.PENDING, owner="")
    due = LangfuseExport.objects.filter(Q(retry_at=None) | Q(retry_at__lte=now), status=ExportStatus.PENDING)
    export_ids = list(due.values_list("id", flat=True))
    # With a long queue each export is queued once per minute, not at every poll.
    LangfuseExport.objects.filter(id__in=export_ids, status=ExportStatus.PENDING).update(retry_at=now + _REQUEUE_DELAY)
    for export in export_ids:
        traces_enqueue.send(EXPORT_LANGFUSE, export)
    return len(export_ids)


def _silent(row: LangfuseExport, now: datetime) -> bool:
    return now - (row.heartbeat_at or row.created_at) > _SILENT


def work(export_id: UUID) -> None:
    """Continue a pending export from its cursor; any other export is not changed."""
    owner = leases.new_owner()
    now = datetime.now(UTC)
    export = LangfuseExport.objects.filter(id=export_id)
    if not move(export, ExportStatus.PENDING, ExportStatus.RUNNING, owner=owner, heartbeat_at=now, retry_at=None):
        return
    row = LangfuseExport.objects.select_related("run").get(id=export_id)
    try:
        _Export(row, owner).run()
    except _LostOwnership:
        logger.info("export_taken_over", export=str(export_id))
    except _Pause as pause:
        _leave(row, owner, str(pause))
    except Unavailable as error:
        _end(row, owner, ExportStatus.FAILED, str(error))
    except Exception as error:
        # Whatever the error, the export is retried later, a limited number of times.
        _leave(row, owner, f"{type(error).__name__}: {error}")
        raise


class _Export:
    """One pass over one export."""

    def __init__(self, row: LangfuseExport, owner: str) -> None:
        self.row = row
        self.owner = owner
        place = configuration.langfuse_targets().get(row.target)
        if place is None:
            raise Unavailable(f"the target “{row.target}” is no longer configured", lasting=True)
        self.langfuse = Langfuse(place)

    def run(self) -> None:
        try:
            for batch in _batches(run_reader.events(self.row.run, after=self.row.done_events)):
                self._deliver(batch)
        finally:
            self.langfuse.close()
        _end(self.row, self.owner, ExportStatus.DONE, self.row.error)

    def _deliver(self, batch: Sequence[Event]) -> None:
        """Send a batch until each event is accepted or permanently rejected.

        Only then the next batch follows.
        """
        remaining = list(batch)
        rejections: dict[str, str] = {}
        for attempt in range(_TRIES):
            self._update(heartbeat_at=datetime.now(UTC))
            if shutdown.is_requested():
                raise _Pause("")
            try:
                receipt = self._send(remaining)
            except Unavailable as error:
                if error.lasting:
                    raise
                self._wait(error, attempt)
                continue
            rejections |= receipt.rejections
            remaining = [event for event in remaining if event.id in receipt.retry_ids]
            if not remaining:
                self._advance_cursor(batch, rejections)
                return
            self._wait(Unavailable(f"{len(remaining)} events were not accepted yet"), attempt)
        raise _Pause("Langfuse did not accept the events")

    def _send(self, events: Sequence[Event]) -> Receipt:
        """Send a batch, in halves if the server's size limit requires it."""
        try:
            return self.langfuse.send(events)
        except TooLarge:
            if len(events) == 1:
                return Receipt(rejections={events[0].id: "413 too large for this server"})
            half = len(events) // 2
            first, second = self._send(events[:half]), self._send(events[half:])
            return Receipt(
                accepted_ids=first.accepted_ids | second.accepted_ids,
                retry_ids=first.retry_ids | second.retry_ids,
                rejections={**first.rejections, **second.rejections},
            )

    def _advance_cursor(self, batch: Sequence[Event], rejections: dict[str, str]) -> None:
        """Move the cursor past the batch, and store its rejections."""
        columns: dict[str, object] = {
            "done_events": F("done_events") + len(batch),
            "rejected": F("rejected") + len(rejections),
            "cut": F("cut") + sum(len(event.cut) for event in batch),
            "failures": 0,
        }
        if rejections:
            self.row.error = next(iter(rejections.values()))
            columns["error"] = self.row.error
        self._update(**columns)

    def _wait(self, error: Unavailable, attempt: int) -> None:
        if attempt == _TRIES - 1:
            raise _Pause(str(error)) from error
        retry_after_s = error.retry_after_s
        seconds = min(_FIRST_WAIT_S * 2**attempt if retry_after_s is None else retry_after_s, _LONGEST_WAIT_S)
        logger.warning("export_waits", export=str(self.row.id), reason=str(error), seconds=seconds)
        time.sleep(seconds)

    def _update(self, **columns: object) -> None:
        if not _owned_row(self.row, self.owner).filter(status=ExportStatus.RUNNING).update(**columns):
            raise _LostOwnership


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


def _leave(row: LangfuseExport, owner: str, reason: str) -> None:
    """Pause an export; after too many consecutive failures it has failed."""
    row.refresh_from_db()
    if not reason:
        _pause(row, owner)
        return
    failures = row.failures + 1
    if failures >= _MOST_FAILURES:
        _end(row, owner, ExportStatus.FAILED, f"{reason} (given up after {failures} attempts)")
        return
    pause = min(_SHORTEST_PAUSE_S * 2 ** (failures - 1), _LONGEST_PAUSE_S)
    _pause(row, owner, error=reason, failures=failures, retry_at=datetime.now(UTC) + timedelta(seconds=pause))
    _touch(row.run)


def _pause(row: LangfuseExport, owner: str, **columns: object) -> None:
    move(_owned_row(row, owner), ExportStatus.RUNNING, ExportStatus.PENDING, owner="", **columns)


def _end(row: LangfuseExport, owner: str, status: ExportStatus, error: str) -> None:
    move(_owned_row(row, owner), ExportStatus.RUNNING, status, owner="", error=error, ended_at=datetime.now(UTC))
    if status == ExportStatus.FAILED:
        logger.warning("export_failed", export=str(row.id), reason=error)
    _touch(row.run)


def _owned_row(row: LangfuseExport, owner: str) -> QuerySet[LangfuseExport]:
    return LangfuseExport.objects.filter(id=row.id, owner=owner)


def _touch(run: Run) -> None:
    with transaction.atomic():
        notify.touch("runs")
