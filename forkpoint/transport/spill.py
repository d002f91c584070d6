"""Events that could not be sent yet: one file of JSON lines for each batch, readable only by the user."""

import logging
import os
import time
from pathlib import Path
from typing import Final

from forkpoint.entropy import new_uuid

_log = logging.getLogger("forkpoint")
# An hour of a busy agent. More is dropped and counted, so that an outage cannot fill the disk.
_MAX_BYTES: Final = 1024**3
# The file of a batch until it is complete, which takes much less than an hour.
_HALF: Final = ".new"
_OLDEST_HALF_S: Final = 3600


class SpillFolder:
    """A folder of batches that wait for one server. `forkpoint import` reads the files as well.

    A file is complete once it has its name, and sending it twice is harmless. Processes therefore share the folder
    without locks.
    """

    def __init__(self, path: Path, max_bytes: int = _MAX_BYTES) -> None:
        self.path = path
        self._max_bytes = max_bytes
        self._has_warned = False
        # Batches that could not be read or removed: they wait for a process that can.
        self._unusable: set[str] = set()
        self._is_clean = False

    def write(self, body: bytes) -> bool:
        """Store a batch; return False if the folder is full or cannot be written."""
        if not self._has_room(body, ".jsonl"):
            return False
        try:
            self._write(body, ".jsonl")
        except OSError as error:
            self._warn_once(str(error))
            return False
        return True

    def split(self, name: str, body: bytes) -> bool:
        """Store a batch that is too large for the server as two; return False if it is one event, or on failure."""
        lines = body.splitlines(keepends=True)
        half = len(lines) // 2
        if not half:
            return False
        try:
            self._write(b"".join(lines[:half]), ".jsonl")
            self._write(b"".join(lines[half:]), ".jsonl")
        except OSError as error:
            self._warn_once(str(error))
            return False
        # Only now: events that are stored twice are sent twice, which is harmless.
        self.remove(name)
        return True

    def set_aside(self, body: bytes) -> None:
        """Store a batch that the server rejected, for inspection. It is not sent again."""
        if not self._has_room(body, ".rejected"):
            return
        try:
            self._write(body, ".rejected")
        except OSError as error:
            self._warn_once(str(error))

    def files(self) -> list[str]:
        """Return the names of the stored batches, oldest first."""
        return self._names(".jsonl")

    def oldest(self) -> str | None:
        """Return the oldest batch that can be sent."""
        if not self._is_clean:
            self._is_clean = True
            self._remove_halves()
        return next((name for name in self.files() if name not in self._unusable), None)

    def size(self) -> int:
        """Return the bytes that wait to be sent."""
        return self._bytes(".jsonl")

    def read(self, name: str) -> bytes:
        """Return a batch; empty if another process has sent it meanwhile, or if it cannot be read now."""
        try:
            body = (self.path / name).read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as error:
            self._leave(name, error)
            return b""
        if not body:
            self.remove(name)
        return body

    def remove(self, name: str) -> None:
        try:
            (self.path / name).unlink(missing_ok=True)
        except OSError as error:
            self._leave(name, error)

    def _remove_halves(self) -> None:
        """Remove what processes left that were killed while they stored a batch."""
        for name in self._names(_HALF):
            try:
                # Of the file, because a process in a rerun may have the clock of its recording.
                if (self.path / name).stat().st_mtime < time.time() - _OLDEST_HALF_S:
                    self.remove(name)
            except FileNotFoundError:
                continue

    def _leave(self, name: str, error: OSError) -> None:
        self._unusable.add(name)
        self._warn_once(str(error))

    def _names(self, suffix: str) -> list[str]:
        try:
            return sorted(name for name in os.listdir(self.path) if name.endswith(suffix))  # noqa: PTH208 - names
        except OSError:
            return []

    def _bytes(self, suffix: str) -> int:
        return sum(self._size_of(name) for name in self._names(suffix))

    def _has_room(self, body: bytes, suffix: str) -> bool:
        if self._bytes(suffix) + len(body) <= self._max_bytes:
            return True
        self._warn_once("the folder is full")
        return False

    def _size_of(self, name: str) -> int:
        try:
            return (self.path / name).stat().st_size
        except OSError:
            return 0

    def _write(self, body: bytes, suffix: str) -> None:
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        name = f"{time.time_ns()}-{new_uuid().hex[:8]}"
        path = self.path / f"{name}{_HALF}"
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(body)
            path.rename(self.path / f"{name}{suffix}")
        except OSError:
            # On a full disk, the halves of all batches would take what others free.
            path.unlink(missing_ok=True)
            raise

    def _warn_once(self, reason: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            _log.warning("Recording is incomplete: events cannot be stored in %s (%s)", self.path, reason)
