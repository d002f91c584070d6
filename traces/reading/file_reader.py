"""Read files: detect their formats, enforce limits, and yield the importers' runs one by one. Pure.

A file that cannot be read yields no run and is reported with the reason and location. In a file with one run per
line, the valid lines are read and each invalid one is reported.
"""

import io
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from traceback import extract_tb
from typing import IO, Final

from traces.bundles import archive
from traces.errors import ProblemError
from traces.importers import registry, rejections
from traces.importers.files import archive_members, file_opener
from traces.importers.files.archive_members import Member
from traces.importers.files.archives import Archive
from traces.importers.files.errors import LISTED_PROBLEMS, BadFile, Problems
from traces.importers.files.sample import SIZE, Sample
from traces.importers.files.source import Source
from traces.importers.importer import Importer
from traces.importers.otlp import message_frames
from traces.reading.progress import (
    Allow,
    BundleRead,
    BytesRead,
    Event,
    FilesFinished,
    MembersUnread,
    NamedFile,
    PartSkipped,
    ReadingStarted,
    RunRead,
)
from traces.reading.run_limits import RunLimits, WeighedRun
from traces.reading.spread_runs import SpreadFiles
from traces.reading.unread_members import RunContents, UnreadMembers

# One of many files that exceeds its memory limit; its memory is free again.
_TOO_MUCH_MEMORY: Final = "this takes more memory to read than a file of this size may use"
# Characters of a member's name. A tar file may have far longer ones, and the report repeats them.
_LONGEST_NAME: Final = 1_000
_INNER_ARCHIVE: Final = "an archive inside an archive: unpack it and import its files"


@dataclass(kw_only=True)
class _Reading:
    format: str | None
    allow: Allow
    # Of the file that is being read.
    limits: RunLimits = field(default_factory=lambda: RunLimits(size=0))
    # Files of formats that spread a run over several files, until all files are read.
    spread_files: dict[str, SpreadFiles] = field(default_factory=dict)
    # Their numbers in the import, by format and name.
    spread_numbers: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    # Files that are not finished because they belong to a spread run.
    unfinished_files: set[int] = field(default_factory=set)


def read_files(
    files: Iterable[NamedFile], format: str | None = None, *, allow: Allow = lambda size: None
) -> Generator[Event, None, None]:
    """Read recordings in any known format; `format` overrides detection."""
    check_format(format)
    state = _Reading(format=format, allow=allow)
    for number, file in enumerate(files):
        yield from _read_file(state, number, file)
    for name, spread in state.spread_files.items():
        for sources in spread.groups():
            by_name = state.spread_numbers[name]
            numbers = tuple(sorted({number for source in sources for number in by_name[source.name]}))
            size = sum(len(source.data) for source in sources)
            yield ReadingStarted(numbers)
            state.allow(size)
            yield from _read_group(spread.importer, sources, RunLimits(size=size, read_bytes=size))
            yield FilesFinished(numbers)


def check_format(format: str | None) -> None:
    """Raise `BadFile` for an unknown format."""
    if format not in (None, registry.BUNDLE):
        registry.get_importer(format)


def size_of(file: IO[bytes]) -> int:
    """Return the size of a file in bytes, 0 if unknown; reset its position to the start."""
    if not file.seekable():
        return 0
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    return size


def _read_file(state: _Reading, number: int, file: NamedFile) -> Iterator[Event]:
    yield ReadingStarted((number,))
    total = size_of(file.file)
    state.allow(total)
    state.limits = RunLimits(size=total)
    try:
        yield from _events_of(state, number, file, total)
    except ProblemError as problem:
        yield _skip(file.name, problem)
    except MemoryError:
        yield PartSkipped(file.name, _TOO_MUCH_MEMORY, "byte 0")
    yield BytesRead(file.name, total, total)
    if number not in state.unfinished_files:
        yield FilesFinished((number,))


def _events_of(state: _Reading, number: int, file: NamedFile, total: int) -> Iterator[Event]:
    """Yield the events of a file, as far as it can be read without other files."""
    stream = file_opener.decompress(file.file)
    head = file_opener.read_head(stream, SIZE)
    if archive_members.is_tar(head):
        members = archive_members.tar_members(file_opener.prepend(head, stream))
        yield from _read_members(state, number, file, members, total)
    elif archive_members.is_zip(head):
        yield from _read_zip(state, number, file, _whole_sample(file.name, head, stream), total)
    elif state.format == registry.BUNDLE:
        raise BadFile(rejections.NO_BUNDLE, "byte 0")
    else:
        yield from _read_recording(state, number, file, _sample(file.name, head), stream, total)


def _sample(name: str, head: bytes) -> Sample:
    return Sample(name=name, head=head, is_complete=len(head) < SIZE)


def _whole_sample(name: str, head: bytes, stream: IO[bytes]) -> Sample:
    """Read the rest of a file of which the beginning is not enough to detect the format."""
    data = file_opener.read_all(file_opener.prepend(head, stream))
    return Sample(name=name, head=data, is_complete=True)


def _read_zip(state: _Reading, number: int, file: NamedFile, sample: Sample, total: int) -> Iterator[Event]:
    """Read a zip file: a bundle, a recording of a format that is a zip file, or an archive of recordings."""
    if state.format in {None, registry.BUNDLE} and archive.is_bundle(io.BytesIO(sample.head)):
        yield BundleRead(number)
    elif state.format == registry.BUNDLE:
        raise BadFile(rejections.NO_BUNDLE, "byte 0")
    elif registry.is_accepted(sample, state.format):
        yield from _read_recording(state, number, file, sample, io.BytesIO(), total)
    else:
        yield from _read_members(state, number, file, archive_members.zip_members(sample.head), total)


def _read_recording(
    state: _Reading, number: int, file: NamedFile, sample: Sample, stream: IO[bytes], total: int
) -> Iterator[Event]:
    """Read a file by its importer; `stream` has what follows the sample."""
    if message_frames.has_frames(sample.head):
        messages = message_frames.join_messages(file_opener.prepend(sample.head, stream))
        yield from (_skip(file.name, problem) for problem in messages.problems)
        sample, stream = Sample(name=file.name, head=messages.data, is_complete=True), io.BytesIO()
        file = NamedFile(name=file.name, file=io.BytesIO(messages.data))
    head = sample.head
    if file_opener.is_blank(head) and sample.is_complete:
        raise BadFile("the file is empty", "byte 0")
    # A long document.
    if state.format is None and not sample.is_complete and not sample.values:
        sample = _whole_sample(file.name, head, stream)
    file_opener.check_weight(sample.head, total)
    if state.format is not None:
        yield from _read_by(registry.get_importer(state.format), state, number, file, sample, stream, total)
        return
    with _report_errors("the detection of its format"):
        importer, shape = registry.detect_shape(sample)
    if shape is None:
        yield from _read_by(importer, state, number, file, sample, stream, total)
        return
    sample = Sample(name=file.name, head=shape.data, is_complete=True)
    file = NamedFile(name=file.name, file=io.BytesIO(sample.head))
    for event in _read_by(importer, state, number, file, sample, io.BytesIO(), total):
        if isinstance(event, PartSkipped):
            event = replace(event, location=shape.restore_location(event.location))
        yield event


def _read_by(
    importer: Importer,
    state: _Reading,
    number: int,
    file: NamedFile,
    sample: Sample,
    stream: IO[bytes],
    total: int,
) -> Iterator[Event]:
    if importer.by_line(sample):
        lines = file_opener.prepend(sample.head, stream)
        yield from _read_lines(file, state.limits, importer, lines, is_chosen=state.format is not None)
        return
    data = sample.head if sample.is_complete else file_opener.read_all(file_opener.prepend(sample.head, stream))
    file_opener.check_weight(data, total)
    source = Source(name=file.name, data=data)
    if importer.parse_together is not None:
        state.spread_numbers.setdefault(importer.name, {}).setdefault(file.name, []).append(number)
        state.unfinished_files.add(number)
        state.spread_files.setdefault(importer.name, SpreadFiles(importer=importer)).add(source, file.file)
        return
    yield from _read_document(importer, source, state.limits)


def _read_members(
    state: _Reading, number: int, file: NamedFile, members: Iterable[Member], total: int
) -> Iterator[Event]:
    """Read each file of an archive like a file of a folder: one that is no recording is reported, others are read."""
    is_empty, refusal_count, position = True, 0, 0
    for member in members:
        if state.limits.is_exceeded:
            break
        is_empty = False
        for event in _member_events(state, number, f"{file.name}/{member.name[:_LONGEST_NAME]}", member, total):
            refusal_count += isinstance(event, PartSkipped)
            if not isinstance(event, PartSkipped) or refusal_count <= LISTED_PROBLEMS:
                yield event
        # Not for each of many small members.
        if position != (position := file.file.tell()):
            yield BytesRead(file.name, position, total)
    if is_empty:
        raise BadFile("the archive contains no files", "byte 0")
    if refusal_count > LISTED_PROBLEMS:
        yield PartSkipped(
            file.name, f"{refusal_count - LISTED_PROBLEMS} more parts of this archive cannot be read", "byte 0"
        )


def _member_events(state: _Reading, number: int, name: str, member: Member, total: int) -> Iterator[Event]:
    try:
        file = NamedFile(name=name, file=io.BytesIO(member.read()))
        stream = file_opener.decompress(file.file)
        head = file_opener.read_head(stream, SIZE)
        sample = _sample(name, head)
        if archive_members.is_zip(head):
            sample = _whole_sample(name, head, stream)
        if archive_members.is_archive(head) and not registry.is_accepted(sample, state.format):
            raise BadFile(_INNER_ARCHIVE, "byte 0")
        # Without progress, which is that of the archive.
        events = _read_recording(state, number, file, sample, stream, total)
        yield from (event for event in events if not isinstance(event, BytesRead))
    except ProblemError as problem:
        yield _skip(name, problem)
    except MemoryError:
        yield PartSkipped(name, _TOO_MUCH_MEMORY, "byte 0")


def _read_lines(
    file: NamedFile, limits: RunLimits, importer: Importer, stream: io.BufferedReader, *, is_chosen: bool
) -> Iterator[Event]:
    """Read lines that are runs. Unless the user chose the format, a line of another form is a problem."""
    problems, unread = Problems(), UnreadMembers()
    for line in file_opener.read_lines(stream):
        if limits.is_exceeded:
            break
        sample = Sample(name=file.name, head=line.data, is_complete=True)
        source = sample.source
        try:
            file_opener.check_weight(line.data, limits.size)
            if not is_chosen and sample.values and importer.sniff(sample) <= 0:
                raise BadFile(f"this is no record of the format of the other lines ({importer.title})", "")
            limits.read_bytes += len(line.data)
            contents = RunContents()
            for run in _runs_of(importer, [source], limits):
                contents.add(run.run)
                yield RunRead(file.name, run.run, run.weight)
                yield BytesRead(file.name, file.file.tell(), limits.size)
            unread.add([source], contents)
        except ProblemError as problem:
            source.problems.append(BadFile(problem.detail, problem.where))
        count = len(problems)
        problems.extend(problem.prefix_location(line.location) for problem in source.problems)
        yield from (_skip(file.name, problem) for problem in problems[count:])
    yield from _report_overflow(file.name, problems)
    yield MembersUnread(file.name, unread.listing())


def _runs_of(importer: Importer, sources: list[Source], limits: RunLimits) -> Iterator[WeighedRun]:
    """Yield the runs of an importer. An error in its code is reported like a bad file: others are still read."""
    with _report_errors(f"the importer of {importer.title}"):
        yield from limits.weigh(importer.runs(sources), sources)


@contextmanager
def _report_errors(part: str) -> Iterator[None]:
    """Raise `BadFile` for an error in the code of `part`."""
    try:
        yield
    except (ProblemError, MemoryError):
        raise
    except Exception as error:
        # Without its message and a log entry: both may quote the file.
        frame = extract_tb(error.__traceback__)[-1]
        place = f"{PurePath(frame.filename).name}, line {frame.lineno}"
        reason = f"{part} failed with {type(error).__name__} ({place})"
        raise BadFile(f"an error of Forkpoint: {reason}. Please report it", "byte 0") from error


def _read_document(importer: Importer, source: Source, limits: RunLimits) -> Iterator[Event]:
    """Build all runs of the file before the first is stored: nothing is stored of a bad file."""
    is_archive = archive_members.is_zip(source.data)
    limits.read_bytes += Archive(source.data).unpacked_size if is_archive else len(source.data)
    runs = list(_runs_of(importer, [source], limits))
    yield from _skip_parts(source)
    if not runs and not source.problems:
        raise BadFile(f"there is no run in this file ({importer.title})", "byte 0")
    contents, unread = RunContents(), UnreadMembers()
    for run in runs:
        contents.add(run.run)
        yield RunRead(source.name, run.run, run.weight)
        yield BytesRead(source.name, limits.size, limits.size)
    unread.add([source], contents)
    yield MembersUnread(source.name, unread.listing())


def _read_group(importer: Importer, sources: list[Source], limits: RunLimits) -> Iterator[Event]:
    """Read the runs of files that belong together."""
    # Problems at this point come from before any of them was read.
    is_rejected = all(source.problems for source in sources)
    runs = 0
    contents, unread = RunContents(), UnreadMembers()
    names = ", ".join(source.name for source in sources[:3]) + (", …" if len(sources) > 3 else "")
    try:
        for run in [] if is_rejected else _runs_of(importer, sources, limits):
            runs += 1
            contents.add(run.run)
            yield RunRead(names, run.run, run.weight)
            yield BytesRead(names, 0, 0)
        unread.add(sources, contents)
        yield MembersUnread(names, unread.listing())
    except ProblemError as problem:
        yield _skip(names, problem)
    except MemoryError:
        yield PartSkipped(names, _TOO_MUCH_MEMORY, "byte 0")
    for source in sources:
        yield from _skip_parts(source)
    if not runs and not any(source.problems for source in sources):
        yield _skip(names, BadFile(f"there is no run in this file ({importer.title})", "byte 0"))


def _skip(path: str, problem: ProblemError) -> PartSkipped:
    return PartSkipped(path, problem.detail, problem.where)


def _skip_parts(source: Source) -> Iterator[PartSkipped]:
    for problem in source.problems:
        yield _skip(source.name, problem)
    yield from _report_overflow(source.name, source.problems)


def _report_overflow(path: str, problems: Problems) -> Iterator[PartSkipped]:
    if problems.overflow_count:
        yield PartSkipped(
            path, f"{problems.overflow_count} more parts of this file cannot be read", f"after {problems[-1].where}"
        )
