"""The SQLite backend with a fair queue for writers.

SQLite's busy wait is unfair: one of several writers can wait for seconds. Write transactions of one process therefore
queue in order of arrival; BEGIN IMMEDIATE still guards against other processes.
"""

import fcntl
import os
import threading
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.db.backends.sqlite3 import base
from django.db.utils import OperationalError


class FifoLock:
    """A lock that goes to the longest waiting thread. Invariant: it is locked while its queue is not empty."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._is_locked = False

    def acquire(self, timeout_s: float = -1) -> bool:
        """Take the lock; return whether it became free in time."""
        with self._guard:
            if not self._is_locked:
                self._is_locked = True
                return True
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append(turn)
        try:
            if turn.acquire(timeout=timeout_s):
                return True
        except BaseException:  # Ctrl-C, in the main thread
            self._leave(turn)
            raise
        self._leave(turn)
        return False

    def _leave(self, turn: threading.Lock) -> None:
        """Leave the queue; if the lock was already handed over, release it."""
        with self._guard:
            if turn in self._waiting:
                self._waiting.remove(turn)
                return
        self.release()

    def release(self) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._is_locked = False


_locks: defaultdict[str, FifoLock] = defaultdict(FifoLock)


class DatabaseWrapper(base.DatabaseWrapper):
    """Locks its database from BEGIN to COMMIT or ROLLBACK."""

    # Seconds that a transaction waits for other threads, and then for other processes; None: as the settings say.
    patience_s: float | None = None
    _has_turn = False

    @property
    def _lock(self) -> FifoLock:
        return _locks[str(self.settings_dict["NAME"])]

    def _start_transaction_under_autocommit(self) -> None:
        if not self._has_turn:
            if not self._lock.acquire(-1 if self.patience_s is None else self.patience_s):
                raise OperationalError("the transactions of other threads take too long")
            self._has_turn = True
        try:
            with self._busy_timeout():
                super()._start_transaction_under_autocommit()  # type: ignore[misc]  # missing from the stubs
        except BaseException:
            self._end_turn()
            raise

    @contextmanager
    def _busy_timeout(self) -> Iterator[None]:
        """Limit the wait for other processes, which is over when the transaction has begun."""
        if self.patience_s is None:
            yield
            return
        connection = self.connection
        connection.execute(f"PRAGMA busy_timeout = {self.patience_s * 1000:.0f}")
        try:
            yield
        finally:
            connection.execute(f"PRAGMA busy_timeout = {self.settings_dict['OPTIONS']['timeout'] * 1000:.0f}")

    @contextmanager
    def migration_lock(self) -> Iterator[None]:
        """Wait until no other process migrates the database. The lock is that of its folder, and needs no file."""
        folder = os.open(Path(self.settings_dict["NAME"]).parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)

    def _end_turn(self) -> None:
        if self._has_turn:
            self._has_turn = False
            self._lock.release()

    def _commit(self) -> Any:
        try:
            return super()._commit()  # type: ignore[misc]  # missing from the stubs
        finally:
            if not self.connection or not self.connection.in_transaction:
                self._end_turn()

    def _rollback(self) -> Any:
        try:
            return super()._rollback()  # type: ignore[misc]  # missing from the stubs
        finally:
            self._end_turn()

    def _close(self) -> Any:
        try:
            return super()._close()  # type: ignore[misc]  # missing from the stubs
        finally:
            self._end_turn()
