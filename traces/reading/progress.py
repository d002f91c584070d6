"""What reading files reports while it goes on. Pure: these values also travel from the process that reads."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

from traces.core.recorded_run import RecordedRun


@dataclass(frozen=True, kw_only=True)
class NamedFile:
    """An open file to import; it is read from its start, twice where it is one of many, and not closed."""

    name: str
    file: IO[bytes]


@dataclass(frozen=True, slots=True)
class ReadingStarted:
    """These files, by their places in the import, are read from now on."""

    files: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FilesFinished:
    """These files are not needed again."""

    files: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RunRead:
    """A run, and the name of its file or files."""

    path: str
    run: RecordedRun


@dataclass(frozen=True, slots=True)
class BundleRead:
    """A file that is a bundle, which only the store can read."""

    file: int


@dataclass(frozen=True, slots=True)
class PartSkipped:
    """A file or a part of one that could not be read."""

    path: str
    reason: str
    where: str


@dataclass(frozen=True, slots=True)
class Advanced:
    """Bytes of a file read so far, and its size in bytes (0: unknown)."""

    path: str
    done: int
    total: int


Event = ReadingStarted | FilesFinished | RunRead | BundleRead | PartSkipped | Advanced
# Called with the bytes of the file or files that are read next.
Allow = Callable[[int], None]
