"""Read the segments of a recording, and build its run as far as it has arrived."""

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

import structlog

from traces.core.json_types import JSONObject
from traces.core.recorded_run import PROBLEM, RecordedRun
from traces.core.step_header import evolve
from traces.core.vocabulary import RunSource, RunStatus
from traces.importers.assembly import Assembly, SegmentContent, assemble
from traces.importers.registry import get_importer
from traces.ingest.redaction import with_note
from traces.judgements import late_judgements
from traces.models import Segment
from traces.recordings import salvage
from traces.recordings.jobs import Job
from traces.recordings.segment_redaction import marker_kinds
from traces.storage import bulk
from traces.storage.compression import decompress

logger = structlog.get_logger("traces.recordings")


class SegmentRow(NamedTuple):
    """A stored segment."""

    id: int
    format: str
    file: str
    checks: str
    data: bytes


def assemble_job(job: Job, rows: Sequence[SegmentRow]) -> None:
    """Build the run of a recording, and note what of it cannot be read."""
    start = time.thread_time()
    recording = job.recording
    job.checks = frozenset.intersection(*(frozenset(row.checks.split()) for row in rows)) if rows else frozenset()
    assembly = _read(job, rows)
    job.note_problems(map(str, assembly.problems))
    if assembly.has_ended is not None:
        recording.has_ended = assembly.has_ended
    run = assembly.run
    if run is not None and run.steps:
        job.run = _as_recorded(run, job)
    elif run is not None and late_judgements.add_to_stored(run) is None:
        job.note_problems(["its steps have not arrived"])
    # Without any problem, the rest of it may arrive later, or never existed.
    if job.run is None and (job.is_salvaged or assembly.problems):
        job.run = stand_in(job, rows[0].format if rows else "")
    if job.is_due_to_seal:
        job.branches = [_as_recorded(run, job) for run in assembly.branches if run.steps]
    job.cost = timedelta(seconds=time.thread_time() - start)


def _read(job: Job, rows: Sequence[SegmentRow]) -> Assembly:
    """Return what can be read of a recording."""
    segments = _contents(rows)
    assembly = Assembly(run=None, branches=(), problems=())
    try:
        assembly = assemble(job.recording.external_id, segments)
        # Records that detectors looked at without leaving a marker have none.
        job.kinds = [] if job.checks else sorted({kind for item in segments for kind in marker_kinds(item.read())})
    except Exception as error:  # noqa: BLE001  # one unreadable recording must not stop the others
        logger.error("assembly_failed", recording=str(job.recording.id), exc_info=error)
        job.note_problems([f"its records could not be read ({type(error).__name__})"])
    if assembly.run is None and segments:
        job.note_problems(map(str, assembly.problems))
        job.is_salvaged = True
        assembly = salvage.assemble_readable(job.recording.external_id, segments) or replace(assembly, problems=())
    return assembly


def stand_in(job: Job, format: str) -> RecordedRun | None:
    """Return what shows a recording at its end that became no run."""
    if not job.is_due_to_seal or job.recording.run_id is not None or not format:
        return None
    job.is_salvaged = True
    problem = job.problem or "nothing readable has arrived"
    return _as_recorded(salvage.stand_in(job.recording.external_id, format, format, problem), job)


def read_segments(recording_ids: Sequence[UUID]) -> dict[UUID, list[SegmentRow]]:
    """Return the compressed segments of recordings in the order of their arrival, read with one query."""
    segments: dict[UUID, list[SegmentRow]] = {}
    rows = Segment.objects.filter(bulk.id_condition("recording", recording_ids)).order_by("id")
    for recording_id, *row in rows.values_list("recording", *SegmentRow._fields):
        segments.setdefault(recording_id, []).append(SegmentRow(*row))
    return segments


def _contents(rows: Sequence[SegmentRow]) -> list[SegmentContent]:
    """Return the records of segments in the order of their arrival; those of a file joined."""
    pieces: dict[tuple[str, str, int], list[bytes]] = {}
    for row in rows:
        key = (row.format, row.file, 0 if row.file else row.id)
        pieces.setdefault(key, []).append(row.data)
    return [
        SegmentContent(format=format, file=file, read=partial(_unpack, parts))
        for (format, file, _), parts in pieces.items()
    ]


def _unpack(frames: Sequence[bytes]) -> bytes:
    return b"".join(map(decompress, frames))


def _as_recorded(run: RecordedRun, job: Job) -> RecordedRun:
    """Apply what is known of the recording: its project, its source, and whether its end arrived."""
    changes: dict[str, Any] = {"source": RunSource.LIVE}
    if job.recording.project:
        changes["app"] = job.recording.project
    if job.kinds:
        note: JSONObject = {"status": "redacted", "kinds": [*job.kinds]}
        changes["metadata"] = with_note(run.metadata, note)
    if job.problem:
        changes["metadata"] = {**changes.get("metadata", run.metadata), PROBLEM: job.problem}
    is_open = not job.recording.has_ended and not job.recording.is_final
    if job.is_salvaged or (is_open and get_importer(run.format).has_ends):
        changes["status"] = RunStatus.PARTIAL
    return evolve(run, **changes)
