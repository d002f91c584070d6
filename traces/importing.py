"""Importing files: detection, limits, and storing what the importers find, run by run.

A file that cannot be read leaves nothing behind and is reported with the reason and the place; in a file with one
run on each line the good lines are imported and each bad one is reported.
"""

import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import IO, Final

from traces import bundle_files, bundles, services
from traces.importers import opening, registry
from traces.importers.problems import BadFile
from traces.importers.registry import Importer
from traces.importers.sample import SIZE, Sample
from traces.importers.source import Source
from traces.models import Run
from traces.problems import ProblemError
from traces.recording import RecordedRun
from traces.schemas import ImportedRun, ImportReport, SkippedFile
from traces.services import Recorded
from traces.vocabulary import RunStatus

_BATCH_RUNS: Final = 50
_BATCH_STEPS: Final = 2_000
_ZIP: Final = b"PK\x03\x04"

# path, bytes of the file read so far, its size in bytes (0: unknown)
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class NamedFile:
    """An open file to import; the importer reads it once, from its start, and does not close it."""

    name: str
    file: IO[bytes]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Waiting:
    """A run that was read and is to be stored with the next batch."""

    path: str
    run: RecordedRun


@dataclass(kw_only=True)
class _Import:
    app: str | None
    progress: Progress
    runs: list[ImportedRun] = field(default_factory=list)
    skipped: list[SkippedFile] = field(default_factory=list)
    # files of formats that spread one run over several files wait here until all are read
    together: dict[str, list[Source]] = field(default_factory=dict)
    waiting: list[_Waiting] = field(default_factory=list)

    @property
    def report(self) -> ImportReport:
        return ImportReport(runs=self.runs, skipped=self.skipped)


def import_files(
    files: Iterable[NamedFile], *, app: str | None = None, format: str | None = None, progress: Progress | None = None
) -> ImportReport:
    """Import recordings in any known format; `app` and `format` overrule what the files say."""
    state = _Import(app=app, progress=progress or (lambda path, done, total: None))
    if format not in (None, registry.BUNDLE):
        registry.named(format)
    for file in files:
        _take(state, file, format)
    for name, sources in state.together.items():
        _take_together(state, registry.named(name), sources)
    _store_waiting(state)
    return state.report


def import_bundle(file: IO[bytes]) -> ImportedRun:
    """Store the run of a bundle; raises what `bundles.import_bundle` raises."""
    recorded = bundles.import_bundle(file)
    run = Run.objects.get(id=recorded.run_id)
    return ImportedRun(
        id=run.id, external_id=run.external_id, name=run.name, app=run.app, status=RunStatus(run.status),
        steps=run.step_count, format=run.format, created=recorded.created,
    )  # fmt: skip


def _take(state: _Import, file: NamedFile, format: str | None) -> None:
    total = _size(file.file)
    try:
        for found in _read(state, file, format):
            if found is not None:
                _record(state, file.name, found)
            state.progress(file.name, min(file.file.tell(), total), total)
    except ProblemError as problem:
        _skip(state, file.name, problem)
    state.progress(file.name, total, total)


def _read(state: _Import, file: NamedFile, format: str | None) -> Iterator[RecordedRun | None]:
    """The runs of a file as far as it can be read alone; `None` only marks progress."""
    stream = opening.opened(file.file)
    head = opening.beginning(stream, SIZE)
    if format == registry.BUNDLE or (format is None and head.startswith(_ZIP)):
        _import_bundle(state, file, opening.rejoined(head, stream))
        return
    sample = Sample(name=file.name, head=head, complete=len(head) < SIZE)
    if not head.strip() and sample.complete:
        raise BadFile("the file is empty", "byte 0")
    if format is None and not sample.complete and not sample.values:  # a long document, which says nothing in part
        sample = Sample(name=file.name, head=opening.whole(opening.rejoined(head, stream)), complete=True)
    importer = registry.detect(sample) if format is None else registry.named(format)
    if importer.by_line(sample):
        yield from _by_line(state, file.name, importer, opening.rejoined(sample.head, stream))
        return
    data = sample.head if sample.complete else opening.whole(opening.rejoined(sample.head, stream))
    source = Source(name=file.name, data=data)
    if importer.parse_together is not None:
        state.together.setdefault(importer.name, []).append(source)
        return
    yield from _of_one_file(state, importer, source)


def _by_line(state: _Import, name: str, importer: Importer, stream: io.BufferedReader) -> Iterator[RecordedRun | None]:
    for line in opening.lines(stream):
        source = Source(name=name, data=line.data)
        try:
            yield from importer.runs([source])
        except ProblemError as problem:
            source.skipped.append(BadFile(problem.detail, problem.where))
        for found in source.skipped:
            _skip(state, name, found.inside(line.where))


def _of_one_file(state: _Import, importer: Importer, source: Source) -> Iterator[RecordedRun | None]:
    """All runs of the file are made before the first is stored: a bad file leaves nothing behind."""
    runs = list(importer.runs([source]))
    _skip_all(state, source)
    if not runs and not source.skipped:
        raise BadFile(f"there is no run in this file ({importer.title})", "byte 0")
    yield from runs


def _take_together(state: _Import, importer: Importer, sources: list[Source]) -> None:
    """The runs of files that belong together."""
    runs = 0
    names = ", ".join(source.name for source in sources[:3]) + (", …" if len(sources) > 3 else "")
    try:
        for run in importer.runs(sources):
            runs += 1
            _record(state, names, run)
            state.progress(names, 0, 0)
    except ProblemError as problem:
        _skip(state, names, problem)
    for source in sources:
        _skip_all(state, source)
    if not runs and not any(source.skipped for source in sources):
        _skip(state, names, BadFile(f"there is no run in this file ({importer.title})", "byte 0"))


def _record(state: _Import, path: str, run: RecordedRun) -> None:
    """Have a run stored, in one transaction with a few others: a commit costs more than a small run."""
    state.waiting.append(_Waiting(path=path, run=replace(run, app=state.app) if state.app else run))
    if len(state.waiting) >= _BATCH_RUNS or sum(len(each.run.steps) for each in state.waiting) >= _BATCH_STEPS:
        _store_waiting(state)


def _store_waiting(state: _Import) -> None:
    if not state.waiting:
        return
    outcomes = services.record_all([each.run for each in state.waiting])
    for each, outcome in zip(state.waiting, outcomes, strict=True):
        if isinstance(outcome, ProblemError):
            where = ", ".join(part for part in (f"run {each.run.external_id}", outcome.where) if part)
            _skip(state, each.path, BadFile(outcome.detail, where))
        else:
            state.runs.append(_imported(each.run, outcome))
    state.waiting = []


def _imported(run: RecordedRun, recorded: Recorded) -> ImportedRun:
    return ImportedRun(
        id=recorded.run_id,
        external_id=run.external_id,
        name=run.name,
        app=run.app,
        status=run.status,
        steps=len(run.steps),
        format=run.format,
        created=recorded.created,
    )


def _import_bundle(state: _Import, file: NamedFile, stream: IO[bytes]) -> None:
    held = io.BytesIO(opening.whole(stream))
    if not bundle_files.is_bundle(held):
        raise BadFile("a zip file, but not a bundle of Forkpoint: unpack it and import its files", "byte 0")
    state.runs.append(import_bundle(held))


def _skip(state: _Import, path: str, problem: ProblemError) -> None:
    state.skipped.append(SkippedFile(path=path, reason=problem.detail, where=problem.where))


def _skip_all(state: _Import, source: Source) -> None:
    for problem in source.skipped:
        _skip(state, source.name, problem)


def _size(file: IO[bytes]) -> int:
    if not file.seekable():
        return 0
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    return size
