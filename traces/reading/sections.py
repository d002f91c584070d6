"""Several files in one: each is a stretch of it, with a position of its own. Pure."""

import io
from typing import IO, Any


class Section(io.RawIOBase):
    """A stretch of a larger file, which must not be read by others meanwhile."""

    def __init__(self, file: IO[bytes], start: int, size: int) -> None:
        self._file = file
        self._start = start
        self._size = size
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise ValueError(f"negative seek position {base + offset}")
        self._at = base + offset
        return self._at

    def readinto(self, target: Any) -> int:
        self._file.seek(self._start + self._at)
        data = self._file.read(max(0, min(len(target), self._size - self._at)))
        target[: len(data)] = data
        self._at += len(data)
        return len(data)
