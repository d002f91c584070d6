"""Reading files: detection, limits, and the runs that the importers make of them, one by one. Pure.

A file that cannot be read gives no run and is reported with the reason and the place; in a file with one run on each
line the good lines are read and each bad one is reported.
"""

import io
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import IO, Final

from traces.bundles import archive
from traces.errors import ProblemError
from traces.importers import detection, registry
from traces.importers.files import archives, file_opener
from traces.importers.files.errors import BadFile, Problems
from traces.importers.files.sample import SIZE, Sample
from traces.importers.files.source import Source
from traces.importers.registry import Importer
from traces.reading.progress import (
    Advanced,
    Allow,
    BundleRead,
    Event,
    FilesFinished,
    NamedFile,
    PartSkipped,
    ReadingStarted,
    RunRead,
)
from traces.reading.spread_runs import SpreadFiles

# Storing a run takes time however small it is: so many of a file, and of a large one as many as fit into its bytes.
# Recordings of real work have more than 100 bytes for each run unless they are compressed.
MOST_RUNS: Final = 10_000
RUNS_OF_MIB: Final = 5_000
_TOO_MANY_RUNS: Final = (
    "a file of its size may have {most:,} runs, and this one has more: from here on nothing was imported. "
    "Unpack it, or split it into several files"
)
# One of many files that is over its limit of memory; what it held is free again.
_TOO_MUCH: Final = "this takes more memory to read than a file of its size may"


@dataclass(kw_only=True)
class _Reading:
    format: str | None
    allow: Allow
    # files of formats that spread one run over several files wait here until all are read
    together: dict[str, SpreadFiles] = field(default_factory=dict)
    # their places in the import, by format and name
    waiting: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    held: set[int] = field(default_factory=set)


def read_files(
    files: Iterable[NamedFile], format: str | None = None, *, allow: Allow = lambda size: None
) -> Generator[Event, None, None]:
    """Read recordings in any known format; `format` overrules what the files say."""
    check_format(format)
    state = _Reading(format=format, allow=allow)
    for number, file in enumerate(files):
        yield from _read_file(state, number, file)
    for name, spread in state.together.items():
        for sources in spread.groups():
            numbers = tuple(sorted({number for each in sources for number in state.waiting[name][each.name]}))
            yield ReadingStarted(numbers)
            state.allow(sum(len(source.data) for source in sources))
            yield from _bounded(_read_together(spread.importer, sources), sum(len(source.data) for source in sources))
            yield FilesFinished(numbers)


def check_format(format: str | None) -> None:
    """Raise `BadFile` for a format that there is not."""
    if format not in (None, registry.BUNDLE):
        registry.get_importer(format)


def size_of(file: IO[bytes]) -> int:
    """The bytes of a file, which is left at its start; 0 where that cannot be told."""
    if not file.seekable():
        return 0
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    return size


def _read_file(state: _Reading, number: int, file: NamedFile) -> Iterator[Event]:
    yield ReadingStarted((number,))
    total = size_of(file.file)
    state.allow(total)
    try:
        yield from _bounded(_events_of(state, number, file, total), total)
    except ProblemError as problem:
        yield _skipped(file.name, problem)
    except MemoryError:
        yield PartSkipped(file.name, _TOO_MUCH, "byte 0")
    yield Advanced(file.name, total, total)
    if number not in state.held:
        yield FilesFinished((number,))


def _events_of(state: _Reading, number: int, file: NamedFile, total: int) -> Iterator[Event]:
    """The runs of a file as far as it can be read alone."""
    stream = file_opener.decompress(file.file)
    head = file_opener.read_head(stream, SIZE)
    if state.format == registry.BUNDLE:
        yield _bundle(number, file_opener.read_all(file_opener.prepend(head, stream)))
        return
    sample = Sample(name=file.name, head=head, is_complete=len(head) < SIZE)
    if state.format is None and head.startswith(archives.MAGIC):
        sample = Sample(name=file.name, head=file_opener.read_all(file_opener.prepend(head, stream)), is_complete=True)
        if archive.is_bundle(io.BytesIO(sample.head)):
            yield BundleRead(number)
            return
    if not head.strip() and sample.is_complete:
        raise BadFile("the file is empty", "byte 0")
    if (
        state.format is None and not sample.is_complete and not sample.values
    ):  # a long document, which says nothing in part
        sample = Sample(name=file.name, head=file_opener.read_all(file_opener.prepend(head, stream)), is_complete=True)
    file_opener.check_weight(sample.head, total)
    importer = registry.detect(sample) if state.format is None else registry.get_importer(state.format)
    if importer.by_line(sample):
        yield from _by_line(file, total, importer, file_opener.prepend(sample.head, stream))
        return
    data = sample.head if sample.is_complete else file_opener.read_all(file_opener.prepend(sample.head, stream))
    file_opener.check_weight(data, total)
    source = Source(name=file.name, data=data)
    if importer.parse_together is not None:
        state.waiting.setdefault(importer.name, {}).setdefault(file.name, []).append(number)
        state.held.add(number)
        state.together.setdefault(importer.name, SpreadFiles(importer=importer)).add(source, file.file)
        return
    yield from _of_one_file(importer, source, total)


def _bounded(events: Iterator[Event], size: int) -> Iterator[Event]:
    """The events of files of `size` bytes as long as they have no more runs than such files may."""
    most = max(MOST_RUNS, size * RUNS_OF_MIB // 2**20)
    runs = 0
    for event in events:
        if isinstance(event, RunRead):
            runs += 1
            if runs > most:
                yield PartSkipped(event.path, _TOO_MANY_RUNS.format(most=most), f"run {event.run.external_id}")
                return
        yield event


def _bundle(number: int, data: bytes) -> BundleRead:
    if not archive.is_bundle(io.BytesIO(data)):
        raise BadFile(detection.OTHER_ZIP, "byte 0")
    return BundleRead(number)


def _by_line(file: NamedFile, size: int, importer: Importer, stream: io.BufferedReader) -> Iterator[Event]:
    problems = Problems()
    for line in file_opener.read_lines(stream):
        source = Source(name=file.name, data=line.data)
        try:
            file_opener.check_weight(line.data, size)
            for run in importer.runs([source]):
                yield RunRead(file.name, run)
                yield Advanced(file.name, file.file.tell(), size)
        except ProblemError as problem:
            source.problems.append(BadFile(problem.detail, problem.where))
        kept = len(problems)
        problems.extend(problem.prefix_location(line.location) for problem in source.problems)
        yield from (_skipped(file.name, problem) for problem in problems[kept:])
    yield from _omitted(file.name, problems)


def _of_one_file(importer: Importer, source: Source, size: int) -> Iterator[Event]:
    """All runs of the file are made before the first is stored: a bad file leaves nothing behind."""
    runs = list(importer.runs([source]))
    yield from _skipped_parts(source)
    if not runs and not source.problems:
        raise BadFile(f"there is no run in this file ({importer.title})", "byte 0")
    for run in runs:
        yield RunRead(source.name, run)
        yield Advanced(source.name, size, size)


def _read_together(importer: Importer, sources: list[Source]) -> Iterator[Event]:
    """The runs of files that belong together."""
    refused = all(source.problems for source in sources)  # before any of them was read
    runs = 0
    names = ", ".join(source.name for source in sources[:3]) + (", …" if len(sources) > 3 else "")
    try:
        for run in [] if refused else importer.runs(sources):
            runs += 1
            yield RunRead(names, run)
            yield Advanced(names, 0, 0)
    except ProblemError as problem:
        yield _skipped(names, problem)
    except MemoryError:
        yield PartSkipped(names, _TOO_MUCH, "byte 0")
    for source in sources:
        yield from _skipped_parts(source)
    if not runs and not any(source.problems for source in sources):
        yield _skipped(names, BadFile(f"there is no run in this file ({importer.title})", "byte 0"))


def _skipped(path: str, problem: ProblemError) -> PartSkipped:
    return PartSkipped(path, problem.detail, problem.where)


def _skipped_parts(source: Source) -> Iterator[PartSkipped]:
    for problem in source.problems:
        yield _skipped(source.name, problem)
    yield from _omitted(source.name, source.problems)


def _omitted(path: str, problems: Problems) -> Iterator[PartSkipped]:
    if problems.overflow_count:
        yield PartSkipped(
            path, f"{problems.overflow_count} more parts of this file cannot be read", f"after {problems[-1].where}"
        )
