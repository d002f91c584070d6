"""Assemble the segments of recordings into runs, and seal the runs that have ended."""

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

import structlog
from django.db import IntegrityError, InterfaceError, OperationalError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Sum

from traces.core.gc_pause import without_pauses
from traces.core.recorded_run import PROBLEM
from traces.errors import ProblemError
from traces.ingest.seal_times import next_refresh
from traces.models import Recording, Run, Segment
from traces.recordings import salvage
from traces.recordings.jobs import Job, patience, seal_time_of
from traces.recordings.segment_reading import assemble_job, read_segments, stand_in
from traces.redaction_policies.services import RedactionByApp
from traces.runs import growing_runs, services
from traces.runs.growing_runs import PreparedStates, RunState
from traces.storage import bulk

logger = structlog.get_logger("traces.recordings")
# A batch is one transaction, because a commit costs more than a small run; a large one would keep writers waiting.
_BATCH: Final = 200
_BATCH_BYTES: Final = 16 * 1024 * 1024
# After that, another worker takes over the recordings of one that died: several times as long as a batch takes.
_LEASE: Final = timedelta(seconds=30)
_LEASE_PER_MB: Final = timedelta(seconds=2)
_RETRY: Final = timedelta(seconds=1)
# Between the clocks of two machines.
_CLOCK_DIFFERENCE: Final = timedelta(minutes=1)
_ARRIVAL_COLUMNS: Final = ("id", "version", "has_ended", "assembled_version", "is_complete")
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


class Overtaken(Exception):
    """Another worker has assembled a recording meanwhile, because this one took longer than its lease."""


def work() -> bool:
    """Assemble and seal a batch of the recordings that are due; return whether there were any."""
    # Until the runs are released: a collection would look at all of their parts and find no garbage.
    with without_pauses():
        return _assemble_batch(_claim())


def _assemble_batch(jobs: Sequence[Job]) -> bool:
    """Assemble, store and seal leased recordings; return whether there were any."""
    if not jobs:
        return False
    try:
        pending = [job for job in jobs if job.needs_assembly]
        segments = read_segments([job.recording.id for job in pending])
        for job in jobs:
            job.problem = "" if job.needs_assembly else job.recording.problem
        for job in pending:
            # Released one by one: the records of a long run take much memory.
            assemble_job(job, segments.pop(job.recording.id, []))
        _store(jobs)
    except BaseException:
        _release(jobs)
        raise
    return True


def release_leases() -> None:
    """Take over the recordings of an earlier process at once: no other process can own them."""
    Recording.objects.filter(leased_until__isnull=False).update(leased_until=None)


def note_restart() -> None:
    """Seal the recordings that the last process left open a quiet period from now, unless more of them arrives.

    Their senders may have died with it. Sessions in files have no sender that could die: their idle limit holds.
    """
    now = datetime.now(UTC)
    files = Segment.objects.filter(recording=OuterRef("pk")).exclude(file="")
    open_recordings = Recording.objects.filter(~Exists(files), due_at__isnull=False)
    with transaction.atomic():
        open_recordings.update(interrupted_at=now)
        open_recordings.filter(due_at__gt=now + patience().quiet).update(due_at=now + patience().quiet)


def follow_clock() -> None:
    """Set arrivals that are still to come to now: the clock was set back after them.

    Their recordings would stay open until it gets there again.
    """
    now = datetime.now(UTC)
    early = Recording.objects.filter(due_at__isnull=False, arrived_at__gt=now + _CLOCK_DIFFERENCE)
    early.update(arrived_at=now, interrupted_at=None, refresh_at=None, due_at=now, leased_until=None)


def is_busy() -> bool:
    """True if a recording is due."""
    return _open_work().filter(due_at__lte=datetime.now(UTC)).exists()


def pause_s(longest: float) -> float:
    """Return the seconds until the next recording is due, and at most `longest`."""
    due_at = _open_work().order_by("due_at").values_list("due_at", flat=True).first()
    return longest if due_at is None else min(longest, max(0.02, (due_at - datetime.now(UTC)).total_seconds()))


def _claim() -> list[Job]:
    """Lease the recordings that are due, oldest first, up to the size of a batch."""
    # Arrivals wake the assembler before they are due, and this takes no lock.
    if not is_busy():
        return []
    now = datetime.now(UTC)
    free = Q(leased_until__isnull=True) | Q(leased_until__lt=now)
    with transaction.atomic():
        due = _open_work().select_for_update(skip_locked=True, of=("self",)).filter(free, due_at__lte=now)
        recordings, size = _first_batch(list(due.order_by("due_at")[:_BATCH]))
        lease = _LEASE + size / 1_000_000 * _LEASE_PER_MB
        ids = [recording.id for recording in recordings]
        Recording.objects.filter(bulk.id_condition("id", ids)).update(leased_until=now + lease)
    return [Job(recording=recording, time=now) for recording in recordings]


def _open_work() -> QuerySet[Recording]:
    """Return the recordings with work to do.

    What arrives for a deleted run waits: it is restored or deleted with the run.
    """
    return Recording.objects.filter(due_at__isnull=False, run__deletion__isnull=True)


def _first_batch(recordings: Sequence[Recording]) -> tuple[list[Recording], int]:
    """Return as many as fit into a batch, and the first in any case, with their bytes."""
    ids = [recording.id for recording in recordings]
    sizes = Segment.objects.filter(bulk.id_condition("recording", ids)).values("recording").annotate(size=Sum("size"))
    size_of = dict(sizes.values_list("recording", "size"))
    batch: list[Recording] = []
    total = 0
    for recording in recordings:
        size = size_of.get(recording.id, 0)
        if batch and total + size > _BATCH_BYTES:
            break
        batch.append(recording)
        total += size
    return batch, total


def _store(jobs: Sequence[Job]) -> None:
    """Write the assembled runs and the results of all jobs; one that cannot be written does not stop the others.

    Raises `OperationalError` and `InterfaceError`: a database that is away concerns all of them.
    """
    try:
        _write(jobs)
    except (OperationalError, InterfaceError):
        raise
    except Overtaken:
        if len(jobs) > 1:
            for job in jobs:
                _store([job])
    except Exception as error:  # noqa: BLE001  # whatever is wrong with one recording must not stop the others
        if len(jobs) == 1:
            _postpone(jobs[0], error)
        else:
            for job in jobs:
                _store([job])


def _postpone(job: Job, error: Exception) -> None:
    """Leave a recording that cannot be written to the next attempt."""
    if isinstance(error, IntegrityError):
        # Another writer stored a run with its identity meanwhile.
        _release([job])
        return
    logger.error("recording_failed", recording=str(job.recording.id), exc_info=error)
    job.note_problems([f"its run could not be stored ({type(error).__name__})"])
    job.run, job.branches = stand_in(job, job.run.format if job.run else ""), ()
    try:
        _write([job])
    except (OperationalError, InterfaceError):
        raise
    except Exception as next_error:  # noqa: BLE001  # its recording remains, with the problem
        logger.error("recording_failed", recording=str(job.recording.id), exc_info=next_error)
        job.run = None
        _write([job])


def _write(jobs: Sequence[Job]) -> None:
    start = time.thread_time()
    # Outside the transaction, which keeps other writers waiting.
    prepared_states = _prepare(jobs)
    runs = [job for job in jobs if job.run is not None]
    with transaction.atomic():
        outcomes = growing_runs.write(prepared_states)
        cost = timedelta(seconds=time.thread_time() - start) / max(1, len(runs))
        for job, outcome in zip(runs, outcomes, strict=True):
            job.cost += cost
            if isinstance(outcome, ProblemError):
                job.note_problems([f"{outcome.detail} {outcome.where}".strip()])
            else:
                job.result = outcome
        for job in jobs:
            _store_branches(job)
        _finish(jobs)


def _prepare(jobs: Sequence[Job]) -> PreparedStates:
    """Prepare the runs of jobs; of one that cannot be stored, what can be."""
    prepared_states = growing_runs.prepare_states(_states(jobs))
    runs = [job for job in jobs if job.run is not None]
    failures = [
        (runs[index], item) for index, item in prepared_states.outcomes.items() if isinstance(item, ProblemError)
    ]
    for job, problem in failures:
        _mend(job, problem)
    return growing_runs.prepare_states(_states(jobs)) if failures else prepared_states


def _states(jobs: Sequence[Job]) -> list[RunState]:
    return [
        RunState(recording=job.run, run_id=job.recording.run_id, is_complete=job.is_complete, checks=job.checks)
        for job in jobs
        if job.run is not None
    ]


def _mend(job: Job, problem: ProblemError) -> None:
    """Leave out of a run what cannot be stored."""
    if job.run is None:
        return
    try:
        run, problems = salvage.repair(job.run, problem, RedactionByApp()[job.run.app])
    except ProblemError as last_problem:
        job.note_problems([f"{last_problem.detail} {last_problem.where}".strip()])
        job.run = stand_in(job, job.run.format)
    else:
        job.note_problems(problems)
        job.run = replace(run, metadata={**run.metadata, PROBLEM: job.problem})


def _release(jobs: Sequence[Job]) -> None:
    """Leave recordings that could not be stored to the next attempt, a second later."""
    later = datetime.now(UTC) + _RETRY
    Recording.objects.filter(id__in=[job.recording.id for job in jobs]).update(leased_until=later)


def _store_branches(job: Job) -> None:
    """Store the further runs of a recording that is being sealed."""
    if not job.branches:
        return
    problems = [outcome for outcome in services.record_all(job.branches) if isinstance(outcome, ProblemError)]
    job.note_problems(problem.detail for problem in problems)


def _finish(jobs: Sequence[Job]) -> None:
    """Seal the runs that nothing was added to meanwhile, note the results, and release the leases.

    Raise `Overtaken`, also for a recording that was removed, so that nothing of an old state is stored.
    """
    now = datetime.now(UTC)
    ids = [job.recording.id for job in jobs]
    recordings = Recording.objects.select_for_update().filter(bulk.id_condition("id", ids)).order_by("key")
    arrival_states = {id: columns for id, *columns in recordings.values_list(*_ARRIVAL_COLUMNS)}
    current: set[Job] = set()
    for job in jobs:
        recording = job.recording
        version, has_ended, *assembled_state = arrival_states.get(recording.id, (0, False))
        if assembled_state != [recording.assembled_version, recording.is_complete]:
            raise Overtaken
        if version == recording.version:
            current.add(job)
        else:
            recording.has_ended = has_ended
    ends = [job for job in jobs if job in current and job.is_due_to_seal]
    growing_runs.seal(job.run_id for job in ends if job.run_id is not None and job.is_written)
    for job in ends:
        if job.run_id is not None and not job.is_written:
            growing_runs.abandon(job.run_id, job.problem)
    rows = [_result(job, now, is_current=job in current, is_sealed=job in ends) for job in jobs]
    bulk.update(Recording, _RESULT_COLUMNS, rows)
    _delete_denied_segments(ends)
    for job in ends:
        if job.problem:
            logger.warning("recording_incomplete", recording=str(job.recording.id), problem=job.problem)


def _delete_denied_segments(jobs: Sequence[Job]) -> None:
    """Delete the segments of sealed runs whose app denies fields: only the run is stored without them."""
    recordings = {job.run_id: job.recording.id for job in jobs if job.run_id is not None}
    redactions = RedactionByApp()
    denied = [
        recordings[run_id]
        for run_id, app in Run.objects.filter(bulk.id_condition("id", recordings)).values_list("id", "app")
        if redactions[app].policy.denies_fields
    ]
    if denied:
        Segment.objects.filter(recording__in=denied).delete()


def _result(job: Job, now: datetime, *, is_current: bool, is_sealed: bool) -> tuple[object, ...]:
    recording = job.recording
    is_complete = job.is_complete and job.run_id is not None and job.is_written
    if job.result is not None and job.result.has_ended:
        recording.has_ended = True
    refresh_at = next_refresh(now, job.cost) if job.needs_assembly else recording.refresh_at
    due_at: datetime | None = max(now, refresh_at or now)
    if is_current:
        due_at = None if is_sealed else seal_time_of(recording)
    columns = (job.run_id, recording.has_ended, recording.version, is_complete, refresh_at, due_at, None, job.problem)
    return (*columns, recording.id)
