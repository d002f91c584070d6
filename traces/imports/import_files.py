"""Importing files: what is read of them is stored, run by run.

A file that cannot be read leaves nothing behind and is reported with the reason and the place; in a file with one
run on each line the good lines are imported and each bad one is reported.
"""

import io
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import IO, Final

from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import RunStatus
from traces.errors import ProblemError
from traces.importers.files import file_opener
from traces.importers.files.errors import BadFile
from traces.imports import portable_runs
from traces.models import Run
from traces.reading import file_reader
from traces.reading.progress import Advanced, BundleRead, Event, NamedFile, PartSkipped, RunRead
from traces.runs import services
from traces.runs.services import Recorded
from traces.schemas import ImportedRun, ImportReport, SkippedFile

_BATCH_RUNS: Final = 200
_BATCH_STEPS: Final = 2_000

# path, bytes of the file read so far, its size in bytes (0: unknown)
Progress = Callable[[str, int, int], None]
Reader = Callable[[Sequence[NamedFile], str | None], Generator[Event, None, None]]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Waiting:
    """What is reported of a run that is to be stored with the next batch."""

    path: str
    external_id: str
    name: str
    app: str
    status: RunStatus
    steps: int
    format: str


@dataclass(kw_only=True)
class _Import:
    app: str | None
    runs: list[ImportedRun] = field(default_factory=list)
    skipped: list[SkippedFile] = field(default_factory=list)
    waiting: list[_Waiting] = field(default_factory=list)
    runs_waiting: deque[RecordedRun] = field(default_factory=deque)

    @property
    def is_full(self) -> bool:
        return len(self.waiting) >= _BATCH_RUNS or sum(each.steps for each in self.waiting) >= _BATCH_STEPS

    @property
    def report(self) -> ImportReport:
        return ImportReport(runs=self.runs, skipped=self.skipped)


def import_files(
    files: Sequence[NamedFile],
    *,
    app: str | None = None,
    format: str | None = None,
    progress: Progress | None = None,
    reader: Reader = file_reader.read_files,
) -> ImportReport:
    """Import recordings in any known format; `app` and `format` overrule what the files say."""
    state = _Import(app=app)
    with closing(reader(files, format)) as events:
        for event in events:
            if state.is_full:  # now that nothing holds the last run but what waits to be stored
                _store_waiting(state)
            match event:
                case RunRead():
                    _wait(state, event)
                case BundleRead():
                    _import_bundle(state, files[event.file])
                case PartSkipped():
                    state.skipped.append(SkippedFile(path=event.path, reason=event.reason, where=event.where))
                case Advanced() if progress is not None:
                    progress(event.path, event.done, event.total)
    _store_waiting(state)
    return state.report


def import_bundle(file: IO[bytes]) -> ImportedRun:
    """Store the run of a bundle; raises what `bundles.import_bundle` raises."""
    recorded = portable_runs.import_bundle(file)
    run = Run.objects.get(id=recorded.run_id)
    return ImportedRun(
        id=run.id,
        external_id=run.external_id,
        name=run.name,
        app=run.app,
        status=RunStatus(run.status),
        steps=run.step_count,
        format=run.format,
        created=recorded.created,
        lost=[*recorded.lost],
    )


def _wait(state: _Import, event: RunRead) -> None:
    """Have a run stored, in one transaction with a few others: a commit costs more than a small run."""
    run = replace(event.run, app=state.app) if state.app else event.run
    state.runs_waiting.append(run)
    state.waiting.append(
        _Waiting(
            path=event.path,
            external_id=run.external_id,
            name=run.name,
            app=run.app,
            status=run.status,
            steps=len(run.steps),
            format=run.format,
        )
    )


def _store_waiting(state: _Import) -> None:
    if not state.waiting:
        return
    outcomes = services.record_all(_taken(state.runs_waiting))
    for each, outcome in zip(state.waiting, outcomes, strict=True):
        if isinstance(outcome, ProblemError):
            where = ", ".join(part for part in (f"run {each.external_id}", outcome.where) if part)
            _skip(state, each.path, BadFile(outcome.detail, where))
        else:
            state.runs.append(_imported(each, outcome))
    state.waiting = []


def _taken(runs: deque[RecordedRun]) -> Iterator[RecordedRun]:
    """The runs, each given up as it is taken."""
    while runs:
        yield runs.popleft()


def _imported(run: _Waiting, recorded: Recorded) -> ImportedRun:
    return ImportedRun(
        id=recorded.run_id,
        external_id=run.external_id,
        name=run.name,
        app=run.app,
        status=run.status,
        steps=run.steps,
        format=run.format,
        created=recorded.created,
    )


def _import_bundle(state: _Import, file: NamedFile) -> None:
    try:
        file.file.seek(0)
        state.runs.append(import_bundle(io.BytesIO(file_opener.read_all(file_opener.decompress(file.file)))))
    except ProblemError as problem:
        _skip(state, file.name, problem)


def _skip(state: _Import, path: str, problem: ProblemError) -> None:
    state.skipped.append(SkippedFile(path=path, reason=problem.detail, where=problem.where))
