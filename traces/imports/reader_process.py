"""Read files in a child process with limits on memory and time. Pure."""

import io
import pickle
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import IO, Final

from traces.core.gc_pause import without_pauses
from traces.importers.files import archive_members, file_opener, sqlite_file
from traces.reading import file_reader
from traces.reading.job import NO_MEMORY, Job
from traces.reading.limits import Budget
from traces.reading.progress import BundleRead, Event, FilesFinished, NamedFile, PartSkipped, ReadingStarted

_SMALL: Final = 64 * 2**10
_PACKED_MAGIC: Final = (*file_opener.COMPRESSION_MAGIC, sqlite_file.MAGIC)
# Per import: each process may have used up its time.
_MAX_CRASHES: Final = 3
_COPY: Final = 2**20
_KILL_SIGNALS: Final = frozenset({signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS})
_BUDGET: Final = Budget()
# What is imported stays: to search it for garbage takes a tenth of the start.
_PROGRAM: Final = (
    "import gc, runpy; gc.disable(); runpy.run_module('traces.reading.child_process', run_name='__main__')"
)
_NOT_READ: Final = "not read: other files of this import exceeded their limits"


class ReaderFailed(Exception):
    """The process ended with an unexpected exit code; the server's log has its traceback."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Section:
    name: str
    start: int
    size: int


@dataclass(kw_only=True, slots=True)
class _Progress:
    """The progress of a process: files being read, files that are finished."""

    current: tuple[int, ...] = ()
    finished: set[int] = field(default_factory=set)
    is_complete: bool = False

    def follow(self, event: Event) -> None:
        match event:
            case ReadingStarted(files):
                self.current = files
            case FilesFinished(files):
                self.current = ()
                self.finished.update(files)


def is_small(files: Sequence[NamedFile]) -> bool:
    """True for files that are small and not compressed: they are read without a child process."""
    return sum(file_reader.size_of(item.file) for item in files) <= _SMALL and not any(
        _is_packed(item.file) for item in files
    )


def read_files(
    files: Sequence[NamedFile], format: str | None = None, *, budget: Budget = _BUDGET
) -> Generator[Event, None, None]:
    """Yield the events of `file_reader.read_files`; files that exceed their limits are skipped."""
    file_reader.check_format(format)
    with TemporaryFile() as shared_file:
        remaining = _concatenate(files, shared_file)
        for _ in range(_MAX_CRASHES):
            progress = _Progress()
            code = yield from _run_process(shared_file, remaining, format, budget, progress)
            if progress.is_complete:
                return
            yield from _skip_current(remaining, progress, code, budget)
            skip_numbers = {*progress.finished, *progress.current}
            remaining = {number: section for number, section in remaining.items() if number not in skip_numbers}
            if not remaining:
                return
        for section in remaining.values():
            yield PartSkipped(section.name, _NOT_READ, "byte 0")


def _concatenate(files: Sequence[NamedFile], shared_file: IO[bytes]) -> dict[int, _Section]:
    """Copy the files one after another into `shared_file`."""
    sections: dict[int, _Section] = {}
    for number, item in enumerate(files):
        start = shared_file.tell()
        item.file.seek(0)
        copyfileobj(item.file, shared_file, _COPY)
        sections[number] = _Section(name=item.name, start=start, size=shared_file.tell() - start)
    shared_file.flush()
    return sections


def _run_process(
    shared_file: IO[bytes], sections: Mapping[int, _Section], format: str | None, budget: Budget, progress: _Progress
) -> Generator[Event, None, int]:
    """Yield the events of one process; return its exit code."""
    numbers = list(sections)
    process = _start(shared_file, list(sections.values()), format, budget)
    try:
        assert isinstance(process.stdout, io.BufferedReader)
        while (event := _next(process.stdout)) is not None:
            event = _renumber(event, numbers)
            progress.follow(event)
            yield event
        code = process.wait()
        progress.is_complete = code == 0
        return code
    finally:
        process.kill()
        process.communicate()


def _start(
    shared_file: IO[bytes], sections: Sequence[_Section], format: str | None, budget: Budget
) -> subprocess.Popen[bytes]:
    descriptor = shared_file.fileno()
    # -P, so that no file in the working directory can shadow a module.
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", _PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=[descriptor],
        start_new_session=True,
    )
    files = tuple((section.name, section.start, section.size) for section in sections)
    assert process.stdin is not None
    pickle.dump(Job(descriptor=descriptor, files=files, format=format, budget=budget), process.stdin)
    process.stdin.flush()
    return process


def _next(stream: io.BufferedReader) -> Event | None:
    """Read the next event; a crashed process left an incomplete one, or none."""
    # Wait for the event before the garbage collector is paused.
    stream.peek(1)
    try:
        with without_pauses():
            event: Event = pickle.load(stream)  # noqa: S301 - written by our own process
    except (EOFError, pickle.UnpicklingError):
        return None
    return event


def _renumber(event: Event, numbers: Sequence[int]) -> Event:
    """Map an event's file numbers to those of the whole import."""
    match event:
        case ReadingStarted(files) | FilesFinished(files):
            return replace(event, files=tuple(numbers[index] for index in files))
        case BundleRead(file):
            return BundleRead(numbers[file])
    return event


def _skip_current(
    sections: Mapping[int, _Section], progress: _Progress, code: int, budget: Budget
) -> Generator[PartSkipped, None, None]:
    """Report the files that a process was reading when it crashed."""
    size = sum(sections[number].size for number in progress.current)
    if code == -signal.SIGXCPU:
        limit = f"{budget.seconds_of(size)} seconds"
    elif code == NO_MEMORY:
        limit = f"{budget.memory_of(size) // 2**20} MiB of memory"
    elif -code in _KILL_SIGNALS:
        limit = f"{budget.memory_of(size) // 2**20} MiB of memory, or nests too deep"
    else:
        raise ReaderFailed(f"the file reader process ended with code {code}")
    if not progress.current:
        raise ReaderFailed(f"the file reader process needs more than {limit} before it reads a file")
    suffix = f" together with {len(progress.current) - 1} others" if len(progress.current) > 1 else ""
    for number in progress.current:
        yield PartSkipped(sections[number].name, f"takes more than {limit} to read{suffix}", "byte 0")


def _is_packed(file: IO[bytes]) -> bool:
    file.seek(0)
    head = file.read(archive_members.HEAD)
    file.seek(0)
    return head.startswith(_PACKED_MAGIC) or archive_members.is_archive(head)
