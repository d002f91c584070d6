"""Reading files in a process with limits: what a file makes of memory and time ends with that process. Pure."""

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
from traces.importers.files import archives, file_opener, sqlite_file
from traces.reading import file_reader
from traces.reading.job import NO_MEMORY, Job
from traces.reading.limits import Budget
from traces.reading.progress import BundleRead, Event, FilesFinished, NamedFile, PartSkipped, ReadingStarted

_SMALL: Final = 64 * 2**10
_PACKED: Final = (*file_opener.COMPRESSION_MAGIC, archives.MAGIC, sqlite_file.MAGIC)
_HEAD: Final = max(len(magic) for magic in _PACKED)
# Of one import: each may have taken all of its time.
_MOST_DEATHS: Final = 3
_COPY: Final = 2**20
_KILLED: Final = frozenset({signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS})
_BUDGET: Final = Budget()
_NOT_READ: Final = "not read: other files of this import took more than they may"


class ReaderFailed(Exception):
    """The process ended in a way that no file explains; its traceback is in the log of the server."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Section:
    name: str
    start: int
    size: int


@dataclass(kw_only=True, slots=True)
class _Progress:
    """How far a process came."""

    current: tuple[int, ...] = ()
    finished: set[int] = field(default_factory=set)
    ended: bool = False

    def follow(self, event: Event) -> None:
        match event:
            case ReadingStarted(files):
                self.current = files
            case FilesFinished(files):
                self.current = ()
                self.finished.update(files)


def is_small(files: Sequence[NamedFile]) -> bool:
    """Whether files are so few, small and plain that they can be read without a process."""
    return sum(file_reader.size_of(each.file) for each in files) <= _SMALL and not any(
        _is_packed(each.file) for each in files
    )


def read_files(
    files: Sequence[NamedFile], format: str | None = None, *, budget: Budget = _BUDGET
) -> Generator[Event, None, None]:
    """What `file_reader.read_files` reports; files that take more than they may are skipped."""
    file_reader.check_format(format)
    with TemporaryFile() as together:
        left = _copied(files, together)
        for _ in range(_MOST_DEATHS):
            progress = _Progress()
            code = yield from _read_some(together, left, format, budget, progress)
            if progress.ended:
                return
            yield from _refused(left, progress, code, budget)
            left = {at: each for at, each in left.items() if at not in {*progress.finished, *progress.current}}
            if not left:
                return
        for each in left.values():
            yield PartSkipped(each.name, _NOT_READ, "byte 0")


def _copied(files: Sequence[NamedFile], together: IO[bytes]) -> dict[int, _Section]:
    """The files, one behind the other in the file `together`."""
    sections: dict[int, _Section] = {}
    for number, each in enumerate(files):
        start = together.tell()
        each.file.seek(0)
        copyfileobj(each.file, together, _COPY)
        sections[number] = _Section(name=each.name, start=start, size=together.tell() - start)
    together.flush()
    return sections


def _read_some(
    together: IO[bytes], sections: Mapping[int, _Section], format: str | None, budget: Budget, progress: _Progress
) -> Generator[Event, None, int]:
    """The events of one process, and its exit code."""
    numbers = list(sections)
    process = _started(together, list(sections.values()), format, budget)
    try:
        assert isinstance(process.stdout, io.BufferedReader)
        while (event := _next(process.stdout)) is not None:
            event = _renumbered(event, numbers)
            progress.follow(event)
            yield event
        code = process.wait()
        progress.ended = code == 0
        return code
    finally:
        process.kill()
        process.communicate()


def _started(
    together: IO[bytes], sections: Sequence[_Section], format: str | None, budget: Budget
) -> subprocess.Popen[bytes]:
    descriptor = together.fileno()
    # -P: nothing in the working directory can take the place of a module.
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "traces.reading.child_process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=[descriptor],
        start_new_session=True,
    )
    files = tuple((each.name, each.start, each.size) for each in sections)
    assert process.stdin is not None
    pickle.dump(Job(descriptor=descriptor, files=files, format=format, budget=budget), process.stdin)
    process.stdin.flush()
    return process


def _next(stream: io.BufferedReader) -> Event | None:
    """The next event; a process that died left a part of one, or nothing."""
    stream.peek(1)  # waits for it, with pauses
    try:
        with without_pauses():
            event: Event = pickle.load(stream)  # noqa: S301  # written by a process of our own
    except (EOFError, pickle.UnpicklingError):
        return None
    return event


def _renumbered(event: Event, numbers: Sequence[int]) -> Event:
    """The event with places among all files of the import."""
    match event:
        case ReadingStarted(files) | FilesFinished(files):
            return replace(event, files=tuple(numbers[at] for at in files))
        case BundleRead(file):
            return BundleRead(numbers[file])
    return event


def _refused(
    sections: Mapping[int, _Section], progress: _Progress, code: int, budget: Budget
) -> Generator[PartSkipped, None, None]:
    """The files that a process died of."""
    size = sum(sections[at].size for at in progress.current)
    if code == -signal.SIGXCPU:
        limit = f"{budget.seconds_of(size)} seconds"
    elif code == NO_MEMORY:
        limit = f"{budget.memory_of(size) // 2**20} MiB of memory"
    elif -code in _KILLED:
        limit = f"{budget.memory_of(size) // 2**20} MiB of memory, or nests too deep"
    else:
        raise ReaderFailed(f"the process that reads files ended with code {code}")
    if not progress.current:
        raise ReaderFailed(f"the process that reads files needs more than {limit} before it reads one")
    together = f" together with {len(progress.current) - 1} others" if len(progress.current) > 1 else ""
    for at in progress.current:
        yield PartSkipped(sections[at].name, f"takes more than {limit} to read{together}", "byte 0")


def _is_packed(file: IO[bytes]) -> bool:
    file.seek(0)
    head = file.read(_HEAD)
    file.seek(0)
    return head.startswith(_PACKED)
