"""Assemble the segments of recordings into runs, and seal the runs that have ended."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

import structlog
from django.conf import settings
from django.db import IntegrityError, InterfaceError, OperationalError, transaction
from django.db.models import Q, QuerySet, Sum

from traces.core.gc_pause import without_pauses
from traces.core.json_types import JSONObject
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import RunSource, RunStatus
from traces.errors import ProblemError
from traces.importers.assembly import SegmentContent, assemble
from traces.importers.registry import get_importer
from traces.ingest.redaction import with_note
from traces.ingest.seal_times import Patience, next_refresh, seal_time
from traces.judgements import late_judgements
from traces.models import Recording, Run, Segment
from traces.recordings.segment_redaction import marker_kinds
from traces.redaction_policies.services import RedactionByApp
from traces.runs import growing_runs, services
from traces.runs.growing_runs import RunState, WriteResult
from traces.storage import bulk
from traces.storage.compression import decompress

logger = structlog.get_logger("traces.recordings")
# A batch is one transaction, because a commit costs more than a small run; a large one would keep writers waiting.
_BATCH: Final = 200
_BATCH_BYTES: Final = 16 * 1024 * 1024
# After that, another worker takes over the recordings of one that died.
_LEASE: Final = timedelta(seconds=120)
_RETRY: Final = timedelta(seconds=1)
_LONGEST_PROBLEM: Final = 2_000
_ARRIVAL_COLUMNS: Final = ("id", "version", "has_ended")
_RESULT_COLUMNS: Final = (
    "run",
    "has_ended",
    "assembled_version",
    "is_complete",
    "refresh_at",
    "due_at",
    "leased_until",
    "problem",
)


class _SegmentRow(NamedTuple):
    """A stored segment."""

    id: int
    format: str
    file: str
    checks: str
    data: bytes


# Compared by identity: comparing two jobs would compare their runs.
@dataclass(kw_only=True, slots=True, eq=False)
class _Job:
    """One recording in a batch, and what became of it."""

    recording: Recording
    time: datetime
    run: RecordedRun | None = None
    branches: Sequence[RecordedRun] = ()
    # Versions of the detectors that looked at all of its records.
    checks: frozenset[str] = frozenset()
    result: WriteResult | None = None
    problem: str = ""
    kinds: Sequence[str] = ()
    cost: timedelta = timedelta()

    @property
    def is_due_to_seal(self) -> bool:
        return _seal_time(self.recording) <= self.time

    @property
    def is_complete(self) -> bool:
        """Whether the run is written in full: no more steps are expected."""
        return self.is_due_to_seal or self.recording.has_ended or self.recording.is_final

    @property
    def needs_assembly(self) -> bool:
        recording = self.recording
        return recording.version != recording.assembled_version or (self.is_complete and not recording.is_complete)

    @property
    def run_id(self) -> UUID | None:
        return self.result.run_id if self.result else self.recording.run_id


def work() -> bool:
    """Assemble and seal a batch of the recordings that are due; return whether there were any."""
    # Until the runs are released: a collection would look at all of their parts and find no garbage.
    with without_pauses():
        return _assemble_batch(_claim())


def _assemble_batch(jobs: Sequence[_Job]) -> bool:
    """Assemble, store and seal leased recordings; return whether there were any."""
    if not jobs:
        return False
    try:
        pending = [job for job in jobs if job.needs_assembly]
        segments = _segments([job.recording.id for job in pending])
        for job in pending:
            # Released one by one: the records of a long run take much memory.
            _assemble(job, segments.pop(job.recording.id, []))
        _store(jobs)
    except BaseException:
        _release(jobs)
        raise
    return True


def release_leases() -> None:
    """Take over the recordings of an earlier process at once: no other process can own them."""
    Recording.objects.filter(leased_until__isnull=False).update(leased_until=None)


def is_busy() -> bool:
    """True if a recording is due."""
    return _open_work().filter(due_at__lte=datetime.now(UTC)).exists()


def pause_s(longest: float) -> float:
    """Return the seconds until the next recording is due, and at most `longest`."""
    due_at = _open_work().order_by("due_at").values_list("due_at", flat=True).first()
    return longest if due_at is None else min(longest, max(0.02, (due_at - datetime.now(UTC)).total_seconds()))


def patience() -> Patience:
    return Patience(quiet=timedelta(seconds=settings.QUIET_S), idle=timedelta(seconds=settings.IDLE_S))


def _claim() -> list[_Job]:
    """Lease the recordings that are due, oldest first, up to the size of a batch."""
    # Arrivals wake the assembler before they are due, and this takes no lock.
    if not is_busy():
        return []
    now = datetime.now(UTC)
    free = Q(leased_until__isnull=True) | Q(leased_until__lt=now)
    with transaction.atomic():
        due = _open_work().select_for_update(skip_locked=True, of=("self",)).filter(free, due_at__lte=now)
        recordings = _first_batch(list(due.order_by("due_at")[:_BATCH]))
        Recording.objects.filter(id__in=[recording.id for recording in recordings]).update(leased_until=now + _LEASE)
    return [_Job(recording=recording, time=now) for recording in recordings]


def _open_work() -> QuerySet[Recording]:
    """Return the recordings with work to do.

    What arrives for a deleted run waits: it is restored or deleted with the run.
    """
    return Recording.objects.filter(due_at__isnull=False, run__deletion__isnull=True)


def _first_batch(recordings: Sequence[Recording]) -> list[Recording]:
    """Return as many as fit into a batch, and the first in any case."""
    sizes = Segment.objects.filter(recording__in=recordings).values("recording").annotate(size=Sum("size"))
    size_of = dict(sizes.values_list("recording", "size"))
    batch: list[Recording] = []
    total = 0
    for recording in recordings:
        total += size_of.get(recording.id, 0)
        if batch and total > _BATCH_BYTES:
            break
        batch.append(recording)
    return batch


def _seal_time(recording: Recording) -> datetime:
    return seal_time(recording.arrived_at, patience(), has_ended=recording.has_ended, is_final=recording.is_final)


def _assemble(job: _Job, rows: Sequence[_SegmentRow]) -> None:
    start = time.thread_time()
    recording = job.recording
    try:
        segments = _contents(rows)
        assembly = assemble(recording.external_id, segments)
    except Exception as error:  # noqa: BLE001  # one unreadable recording must not stop the others
        logger.error("assembly_failed", recording=str(recording.id), exc_info=error)
        job.problem = f"its records could not be read ({type(error).__name__})"
        return
    job.checks = frozenset.intersection(*(frozenset(row.checks.split()) for row in rows)) if rows else frozenset()
    # Records that detectors looked at without leaving a marker have none.
    job.kinds = [] if job.checks else sorted({kind for segment in segments for kind in marker_kinds(segment.data)})
    job.problem = "; ".join(map(str, assembly.problems))[:_LONGEST_PROBLEM]
    if assembly.has_ended is not None:
        recording.has_ended = assembly.has_ended
    if assembly.run is not None and assembly.run.steps:
        job.run = _as_recorded(assembly.run, job)
    elif assembly.run is not None and late_judgements.add_to_stored(assembly.run) is None:
        job.problem = "; ".join(filter(None, [job.problem, "its steps have not arrived"]))
    if job.is_due_to_seal:
        job.branches = [_as_recorded(run, job) for run in assembly.branches if run.steps]
    job.cost = timedelta(seconds=time.thread_time() - start)


def _segments(recording_ids: Sequence[UUID]) -> dict[UUID, list[_SegmentRow]]:
    """Return the compressed segments of recordings in the order of their arrival, read with one query."""
    segments: dict[UUID, list[_SegmentRow]] = {}
    rows = Segment.objects.filter(recording__in=recording_ids).order_by("id")
    for recording_id, *row in rows.values_list("recording", *_SegmentRow._fields):
        segments.setdefault(recording_id, []).append(_SegmentRow(*row))
    return segments


def _contents(rows: Sequence[_SegmentRow]) -> list[SegmentContent]:
    """Return the records of segments in the order of their arrival; those of a file joined."""
    pieces: dict[tuple[str, str, int], list[bytes]] = {}
    for row in rows:
        key = (row.format, row.file, 0 if row.file else row.id)
        pieces.setdefault(key, []).append(decompress(row.data))
    return [
        SegmentContent(format=format, file=file, data=b"".join(parts)) for (format, file, _), parts in pieces.items()
    ]


def _as_recorded(run: RecordedRun, job: _Job) -> RecordedRun:
    """Apply what is known of the recording: its project, its source, and whether its end arrived."""
    changes: dict[str, Any] = {"source": RunSource.LIVE}
    if job.recording.project:
        changes["app"] = job.recording.project
    if job.kinds:
        note: JSONObject = {"status": "redacted", "kinds": [*job.kinds]}
        changes["metadata"] = with_note(run.metadata, note)
    if not job.recording.has_ended and not job.recording.is_final and get_importer(run.format).has_ends:
        changes["status"] = RunStatus.PARTIAL
    return replace(run, **changes)


def _store(jobs: Sequence[_Job]) -> None:
    """Write the assembled runs and the results of all jobs; one that cannot be written does not stop the others.

    Raises `OperationalError` and `InterfaceError`: a database that is away concerns all of them.
    """
    try:
        _write(jobs)
    except (OperationalError, InterfaceError):
        raise
    except Exception as error:  # noqa: BLE001  # whatever is wrong with one recording must not stop the others
        if len(jobs) == 1:
            _postpone(jobs[0], error)
        else:
            for job in jobs:
                _store([job])


def _postpone(job: _Job, error: Exception) -> None:
    """Leave a recording that cannot be written to the next attempt."""
    if isinstance(error, IntegrityError):
        # Another writer stored a run with its identity meanwhile.
        _release([job])
        return
    logger.error("recording_failed", recording=str(job.recording.id), exc_info=error)
    job.run, job.branches = None, ()
    job.problem = f"its run could not be stored ({type(error).__name__})"
    _write([job])


def _write(jobs: Sequence[_Job]) -> None:
    runs = [(job, job.run) for job in jobs if job.run is not None]
    start = time.thread_time()
    # Outside the transaction, which keeps other writers waiting.
    prepared_states = growing_runs.prepare_states(
        [
            RunState(recording=run, run_id=job.recording.run_id, is_complete=job.is_complete, checks=job.checks)
            for job, run in runs
        ]
    )
    with transaction.atomic():
        outcomes = growing_runs.write(prepared_states)
        cost = timedelta(seconds=time.thread_time() - start) / max(1, len(runs))
        for (job, _), outcome in zip(runs, outcomes, strict=True):
            job.cost += cost
            if isinstance(outcome, ProblemError):
                job.problem = f"{outcome.detail} {outcome.where}".strip()[:_LONGEST_PROBLEM]
            else:
                job.result = outcome
        for job in jobs:
            _store_branches(job)
        _finish(jobs)


def _release(jobs: Sequence[_Job]) -> None:
    """Leave recordings that could not be stored to the next attempt, a second later."""
    later = datetime.now(UTC) + _RETRY
    Recording.objects.filter(id__in=[job.recording.id for job in jobs]).update(leased_until=later)


def _store_branches(job: _Job) -> None:
    """Store the further runs of a recording that is being sealed."""
    if not job.branches:
        return
    problems = [outcome for outcome in services.record_all(job.branches) if isinstance(outcome, ProblemError)]
    if problems and not job.problem:
        job.problem = problems[0].detail[:_LONGEST_PROBLEM]


def _finish(jobs: Sequence[_Job]) -> None:
    """Seal the runs that nothing was added to meanwhile, note the results, and release the leases."""
    now = datetime.now(UTC)
    recordings = Recording.objects.select_for_update().filter(id__in=[job.recording.id for job in jobs]).order_by("key")
    arrival_states = {id: (version, has_ended) for id, version, has_ended in recordings.values_list(*_ARRIVAL_COLUMNS)}
    current = {job for job in jobs if arrival_states.get(job.recording.id, (0,))[0] == job.recording.version}
    for job in jobs:
        if job not in current and job.recording.id in arrival_states:
            job.recording.has_ended = arrival_states[job.recording.id][1]
    ends = [job for job in jobs if job in current and job.is_due_to_seal]
    growing_runs.seal(job.run_id for job in ends if job.run_id is not None)
    rows = [_result(job, now, is_current=job in current, is_sealed=job in ends) for job in jobs]
    bulk.update(Recording, _RESULT_COLUMNS, rows)
    _delete_denied_segments(ends)
    for job in ends:
        if job.problem:
            logger.warning("recording_incomplete", recording=str(job.recording.id), problem=job.problem)


def _delete_denied_segments(jobs: Sequence[_Job]) -> None:
    """Delete the segments of sealed runs whose app denies fields: only the run is stored without them."""
    recordings = {job.run_id: job.recording.id for job in jobs if job.run_id is not None}
    redactions = RedactionByApp()
    denied = [
        recordings[run_id]
        for run_id, app in Run.objects.filter(id__in=list(recordings)).values_list("id", "app")
        if redactions[app].policy.denies_fields
    ]
    if denied:
        Segment.objects.filter(recording__in=denied).delete()


def _result(job: _Job, now: datetime, *, is_current: bool, is_sealed: bool) -> tuple[object, ...]:
    recording = job.recording
    refresh_at = next_refresh(now, job.cost) if job.needs_assembly else recording.refresh_at
    due_at: datetime | None = max(now, refresh_at or now)
    if is_current:
        due_at = None if is_sealed else _seal_time(recording)
    is_complete = job.is_complete and job.run_id is not None
    columns = (job.run_id, recording.has_ended, recording.version, is_complete, refresh_at, due_at, None, job.problem)
    return (*columns, recording.id)
