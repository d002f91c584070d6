"""Files of formats that spread one run over several of them: all of one import are read before any run is made.

What belongs together is known by keys (trace ids, mostly) that a format finds in each file. Little is simply held; more
than that is read twice, first for the keys, then the files of one run at a time.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Final

from traces.importers.files import file_opener
from traces.importers.files.errors import BadFile, Problems
from traces.importers.files.source import Source
from traces.importers.registry import Importer

_NUMBER: Final = re.compile(r"([0-9]{1,18})")
HELD: Final = 32 * 2**20  # bytes of files that are kept in memory rather than read again
TOGETHER: Final = 512 * 2**20  # bytes of the files of one run


@dataclass(kw_only=True, slots=True)
class _File:
    name: str
    file: IO[bytes]
    size: int
    data: bytes | None

    def source(self) -> Source:
        """The file, read again where it was not kept."""
        if self.data is None:
            self.file.seek(0)
            return Source(name=self.name, data=file_opener.read_all(file_opener.decompress(self.file)))
        return Source(name=self.name, data=self.data)


@dataclass(kw_only=True, slots=True)
class SpreadFiles:
    """The files of one format in an import."""

    importer: Importer
    files: list[_File] = field(default_factory=list)
    _held: int = 0
    _groups: "_Groups | None" = None

    def add(self, source: Source, file: IO[bytes]) -> None:
        """Take a file; `file` is where it can be read again."""
        entry = _File(name=source.name, file=file, size=len(source.data), data=source.data)
        self.files.append(entry)
        self._held += entry.size
        if self._groups is None and self.importer.keys is not None and self._held > HELD:
            self._groups = _Groups()
            for at, each in enumerate(self.files):
                self._let_go(at, each)
        elif self._groups is not None:
            self._let_go(len(self.files) - 1, entry)

    def groups(self) -> Iterator[list[Source]]:
        """The files that belong together, by name, in whatever order they came; too large a group is refused."""
        together = [self.files] if self._groups is None else self._groups.of(self.files)
        for group in together:
            files = sorted(group, key=_by_name)
            size = sum(each.size for each in files)
            if size > TOGETHER:
                problem = f"{len(files)} files of one run have more than {TOGETHER // 2**20} MiB together"
                yield [
                    Source(name=each.name, data=b"", problems=Problems([BadFile(problem, "byte 0")])) for each in files
                ]
            else:
                yield [each.source() for each in files]

    def _let_go(self, at: int, entry: _File) -> None:
        """Note what a file belongs to, and that it can be read again."""
        if self.importer.keys is None or self._groups is None:
            return
        self._groups.join(at, self.importer.keys(entry.source()))
        if entry.file.seekable():
            entry.data = None


def _by_name(file: _File) -> list[tuple[int, str]]:
    """Names as a person orders them: `part-99` before `part-100`."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in _NUMBER.split(file.name)]


class _Groups:
    """Places that share a key, directly or through others, are one group."""

    def __init__(self) -> None:
        self._first: dict[str, int] = {}
        self._above: dict[int, int] = {}

    def join(self, at: int, keys: set[str]) -> None:
        self._above[at] = at
        for key in keys:
            self._above[self._root(at)] = self._root(self._first.setdefault(key, at))

    def of(self, files: list[_File]) -> list[list[_File]]:
        groups: dict[int, list[_File]] = {}
        for at, each in enumerate(files):
            groups.setdefault(self._root(at), []).append(each)
        return list(groups.values())

    def _root(self, at: int) -> int:
        while self._above[at] != at:
            self._above[at] = self._above[self._above[at]]
            at = self._above[at]
        return at
