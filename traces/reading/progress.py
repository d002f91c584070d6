"""Progress events of reading files. Pure: the file reader process also sends them to its server."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

from traces.core.recorded_run import RecordedRun


@dataclass(frozen=True, kw_only=True)
class NamedFile:
    """An open file to import. It is read from its start, possibly twice, and not closed."""

    name: str
    file: IO[bytes]


@dataclass(frozen=True, slots=True)
class ReadingStarted:
    """Reading of these files, by their numbers in the import, starts."""

    files: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FilesFinished:
    """These files are no longer needed."""

    files: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RunRead:
    """A run, the name of its file or files, and its weight in bytes."""

    path: str
    run: RecordedRun
    weight: int = 0


@dataclass(frozen=True, slots=True)
class BundleRead:
    """A bundle, which only the store can read."""

    file: int


@dataclass(frozen=True, slots=True)
class PartSkipped:
    """A file or a part of one that could not be read."""

    path: str
    reason: str
    location: str


@dataclass(frozen=True, slots=True)
class MembersUnread:
    """Members of files whose values are in no run, with the number of these values."""

    path: str
    members: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class BytesRead:
    """Bytes of a file read so far, and its weight in bytes."""

    path: str
    count: int
    total: int


Event = ReadingStarted | FilesFinished | RunRead | BundleRead | PartSkipped | MembersUnread | BytesRead
# Called with the size in bytes of the file or files that are read next.
Allow = Callable[[int], None]
