"""Sections of a file: several files stored in one, each with its own position. Pure."""

import io
from typing import IO, Any


class Section(io.RawIOBase):
    """A section of a larger file, as a file. No other code may read the larger file meanwhile."""

    def __init__(self, file: IO[bytes], start: int, size: int) -> None:
        self._file = file
        self._start = start
        self._size = size
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise ValueError(f"negative seek position {base + offset}")
        self._position = base + offset
        return self._position

    def readinto(self, target: Any) -> int:
        self._file.seek(self._start + self._position)
        data = self._file.read(max(0, min(len(target), self._size - self._position)))
        target[: len(data)] = data
        self._position += len(data)
        return len(data)
