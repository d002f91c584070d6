"""Import files: store the runs that the readers produce.

A file that cannot be read is reported with the reason and location, and nothing of it is stored. In a file with one
run per line, the valid lines are imported and each invalid one is reported.
"""

import io
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import IO, Any, Final

from traces.audit import audit_log
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import AuditAction, RunStatus
from traces.errors import ProblemError
from traces.importers.files import file_opener
from traces.importers.files.errors import BadFile
from traces.imports import portable_runs
from traces.models import Run
from traces.reading import file_reader
from traces.reading.progress import BundleRead, BytesRead, Event, MembersUnread, NamedFile, PartSkipped, RunRead
from traces.redaction_policies.services import RedactionByApp
from traces.runs import services
from traces.runs.services import RecordResult
from traces.schemas import ImportedRun, ImportReport, SkippedFile, UnreadMember

_BATCH_RUNS: Final = 200
_BATCH_STEPS: Final = 2_000
# As objects, and while it is written, a run of short members takes up to fifty times its size.
_BATCH_BYTES: Final = 2 * 2**20
# Each recording is compared with all that it contradicts. An id that so many recordings share identifies none of them.
_MOST_CONFLICTS: Final = 20
_MOST_UNREAD_MEMBERS: Final = 100

# Path, bytes of the file read so far, its size in bytes (0: unknown), runs stored so far.
Progress = Callable[[str, int, int, int], None]
Reader = Callable[[Sequence[NamedFile], str | None], Generator[Event, None, None]]


@dataclass(frozen=True, kw_only=True, slots=True)
class _PendingRun:
    """The report fields of a run that is stored with the next batch."""

    path: str
    external_id: str
    app: str
    status: RunStatus
    steps: int
    format: str

    @property
    def identity(self) -> tuple[str, str]:
        return self.app, self.external_id


@dataclass(kw_only=True)
class _Import:
    app: str | None
    by: str
    runs: list[ImportedRun] = field(default_factory=list)
    skipped_files: list[SkippedFile] = field(default_factory=list)
    # By member.
    unread: dict[str, UnreadMember] = field(default_factory=dict)
    pending: list[_PendingRun] = field(default_factory=list)
    pending_runs: deque[RecordedRun] = field(default_factory=deque)
    pending_steps: int = 0
    pending_bytes: int = 0
    # By application and id: pending recordings.
    repeats: Counter[tuple[str, str]] = field(default_factory=Counter)
    redactions: RedactionByApp = field(default_factory=RedactionByApp)
    # By application and id: recordings of this import, and those of them that contradict others.
    recordings: Counter[tuple[str, str]] = field(default_factory=Counter)
    conflicts: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def is_full(self) -> bool:
        if not self.pending:
            return False
        return (
            len(self.pending) >= _BATCH_RUNS
            or self.pending_steps >= _BATCH_STEPS
            or self.pending_bytes >= _BATCH_BYTES
            or self.repeats[self.pending[-1].identity] >= _MOST_CONFLICTS
        )

    @property
    def report(self) -> ImportReport:
        return ImportReport(runs=self.runs, skipped=self.skipped_files, unread=list(self.unread.values()))


def import_files(
    files: Sequence[NamedFile],
    *,
    app: str | None = None,
    format: str | None = None,
    progress: Progress | None = None,
    reader: Reader = file_reader.read_files,
    by: str = "",
) -> ImportReport:
    """Import recordings in any known format; `app` and `format` override those of the files."""
    state = _Import(app=app, by=by)
    with closing(reader(files, format)) as events:
        for event in events:
            # At this point only the batch references the last run, so that storing can release it.
            if state.is_full:
                _store_batch(state)
            match event:
                case RunRead():
                    _add_to_batch(state, event)
                case BundleRead():
                    _import_bundle(state, files[event.file])
                case PartSkipped():
                    _add_skipped(state, event.path, event.reason, event.location)
                case MembersUnread():
                    _add_unread(state, event)
                case BytesRead() if progress is not None:
                    progress(event.path, event.count, event.total, len(state.runs))
    _store_batch(state)
    return state.report


def import_bundle(file: IO[bytes], *, by: str) -> ImportedRun:
    """Store the run of a bundle; raise like `portable_runs.import_bundle`."""
    result = portable_runs.import_bundle(file)
    _append_to_audit_log([result], by)
    run = Run.objects.get(id=result.run_id)
    return ImportedRun(
        id=run.id,
        external_id=run.external_id,
        name=run.name,
        app=run.app,
        status=RunStatus(run.status),
        steps=run.step_count,
        format=run.format,
        lost=[*result.lost_digests],
        **_revision_fields(result),
    )


def _add_to_batch(state: _Import, event: RunRead) -> None:
    """Add a run to the batch. A batch is one transaction, because a commit costs more than a small run."""
    run = replace(event.run, app=state.app) if state.app else event.run
    identity = run.app, run.external_id
    state.recordings[identity] += 1
    if state.conflicts[identity] >= _MOST_CONFLICTS:
        run = replace(run, external_id=f"{run.external_id} ({state.recordings[identity]})")
    state.pending_runs.append(run)
    state.pending_steps += len(run.steps)
    state.pending_bytes += event.weight
    state.repeats[run.app, run.external_id] += 1
    state.pending.append(
        _PendingRun(
            path=event.path,
            external_id=run.external_id,
            app=run.app,
            status=run.status,
            steps=len(run.steps),
            format=run.format,
        )
    )


def _store_batch(state: _Import) -> None:
    if not state.pending:
        return
    outcomes = services.record_all(_drain(state.pending_runs))
    _append_to_audit_log([outcome for outcome in outcomes if isinstance(outcome, RecordResult)], state.by)
    for run, outcome in zip(state.pending, outcomes, strict=True):
        if isinstance(outcome, ProblemError):
            location = ", ".join(part for part in (f"run {run.external_id}", outcome.where) if part)
            _skip(state, run.path, BadFile(outcome.detail, location))
        else:
            state.conflicts[run.identity] += outcome.conflicts_with is not None
            state.runs.append(_imported_run(run, outcome))
    state.pending, state.pending_steps, state.pending_bytes = [], 0, 0
    state.repeats.clear()


def _append_to_audit_log(results: Sequence[RecordResult], by: str) -> None:
    """Append one entry for the new runs of a batch: it may have hundreds. Those that were stored before are no news."""
    run_ids = [result.run_id for result in results if result.is_new]
    if run_ids:
        subject = run_ids[0] if len(run_ids) == 1 else f"{len(run_ids)} runs"
        audit_log.append(AuditAction.RUNS_IMPORTED, subject, by=by, runs=[str(run_id) for run_id in run_ids])


def _drain(runs: deque[RecordedRun]) -> Iterator[RecordedRun]:
    """Yield and remove the runs, so that each can be released after use."""
    while runs:
        yield runs.popleft()


def _imported_run(run: _PendingRun, result: RecordResult) -> ImportedRun:
    return ImportedRun(
        id=result.run_id,
        external_id=result.external_id,
        name=result.name,
        app=run.app,
        status=run.status,
        steps=run.steps,
        format=run.format,
        **_revision_fields(result),
    )


def _revision_fields(result: RecordResult) -> dict[str, Any]:
    return {
        "created": result.is_new,
        "revision": result.revision,
        "supersedes": result.supersedes,
        "conflicts_with": result.conflicts_with,
    }


def _import_bundle(state: _Import, file: NamedFile) -> None:
    try:
        file.file.seek(0)
        state.runs.append(
            import_bundle(io.BytesIO(file_opener.read_all(file_opener.decompress(file.file))), by=state.by)
        )
    except ProblemError as problem:
        _skip(state, file.name, problem)


def _skip(state: _Import, path: str, problem: ProblemError) -> None:
    _add_skipped(state, path, problem.detail, problem.where)


def _add_skipped(state: _Import, path: str, reason: str, location: str) -> None:
    """Report a file that was not imported; the reason may quote it."""
    redactor = state.redactions[state.app or ""].redactor()
    state.skipped_files.append(SkippedFile(path=path, reason=redactor.text(reason), where=redactor.text(location)))


def _add_unread(state: _Import, event: MembersUnread) -> None:
    """Count values that are in no run, by their members; a name of a member may be data."""
    redactor = state.redactions[state.app or ""].redactor()
    for member, count in event.members:
        if (earlier := state.unread.get(member)) is not None:
            state.unread[member] = earlier.model_copy(update={"values": earlier.values + count})
        elif len(state.unread) < _MOST_UNREAD_MEMBERS:
            state.unread[member] = UnreadMember(path=event.path, member=redactor.text(member), values=count)
