"""Runs that are spread over several files: all files of an import are read before the first run is built.

Files belong together if they share keys, mostly trace ids, that the format finds in them. A small amount of data is
kept in memory; more is read twice, first for the keys, then the files of one run at a time.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Final

from traces.importers.files import file_opener
from traces.importers.files.errors import BadFile, Problems
from traces.importers.files.source import Source
from traces.importers.importer import Importer

_NUMBER: Final = re.compile(r"([0-9]{1,18})")
# Bytes of files that are kept in memory rather than read again.
MEMORY_LIMIT: Final = 32 * 2**20
# Bytes of the files of one run.
MAX_RUN_SIZE: Final = 512 * 2**20


@dataclass(kw_only=True, slots=True)
class _File:
    name: str
    file: IO[bytes]
    size: int
    data: bytes | None

    def source(self) -> Source:
        """Return the file's source; read the file again if it is not in memory."""
        if self.data is None:
            self.file.seek(0)
            return Source(name=self.name, data=file_opener.read_all(file_opener.decompress(self.file)))
        return Source(name=self.name, data=self.data)


@dataclass(kw_only=True, slots=True)
class SpreadFiles:
    """The files of one format in an import."""

    importer: Importer
    files: list[_File] = field(default_factory=list)
    _total_size: int = 0
    _groups: "_Groups | None" = None

    def add(self, source: Source, file: IO[bytes]) -> None:
        """Add a file; `file` is read again if the source is not kept in memory."""
        entry = _File(name=source.name, file=file, size=len(source.data), data=source.data)
        self.files.append(entry)
        self._total_size += entry.size
        if self._groups is None and self.importer.keys is not None and self._total_size > MEMORY_LIMIT:
            self._groups = _Groups()
            for index, item in enumerate(self.files):
                self._release(index, item)
        elif self._groups is not None:
            self._release(len(self.files) - 1, entry)

    def groups(self) -> Iterator[list[Source]]:
        """Yield the groups of files that belong together, sorted by name; too large a group is rejected."""
        groups = [self.files] if self._groups is None else self._groups.split(self.files)
        for group in groups:
            files = sorted(group, key=_sort_key)
            size = sum(item.size for item in files)
            if size > MAX_RUN_SIZE:
                problem = f"{len(files)} files of one run have more than {MAX_RUN_SIZE // 2**20} MiB together"
                yield [
                    Source(name=item.name, data=b"", problems=Problems([BadFile(problem, "byte 0")])) for item in files
                ]
            else:
                yield [item.source() for item in files]

    def _release(self, index: int, entry: _File) -> None:
        """Add a file to the groups, and drop its data if it can be read again."""
        if self.importer.keys is None or self._groups is None:
            return
        self._groups.join(index, self.importer.keys(entry.source()))
        if entry.file.seekable():
            entry.data = None


def _sort_key(file: _File) -> list[tuple[int, str]]:
    """Sort names in natural order: `part-99` before `part-100`."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in _NUMBER.split(file.name)]


class _Groups:
    """Groups of files that share a key, directly or through other files: a disjoint-set forest over file indices."""

    def __init__(self) -> None:
        self._first: dict[str, int] = {}
        self._parents: dict[int, int] = {}

    def join(self, index: int, keys: set[str]) -> None:
        self._parents[index] = index
        for key in keys:
            self._parents[self._root(index)] = self._root(self._first.setdefault(key, index))

    def split(self, files: list[_File]) -> list[list[_File]]:
        groups: dict[int, list[_File]] = {}
        for index, item in enumerate(files):
            groups.setdefault(self._root(index), []).append(item)
        return list(groups.values())

    def _root(self, index: int) -> int:
        while self._parents[index] != index:
            self._parents[index] = self._parents[self._parents[index]]
            index = self._parents[index]
        return index
