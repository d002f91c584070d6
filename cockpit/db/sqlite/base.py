"""The SQLite backend with a fair queue for writers.

SQLite's busy wait is unfair: one of several writers can wait for seconds. Write transactions of one process therefore
queue in order of arrival; BEGIN IMMEDIATE still guards against other processes.
"""

import threading
from collections import defaultdict, deque
from typing import Any

from django.db.backends.sqlite3 import base


class FifoLock:
    """A lock that goes to the longest waiting thread. Invariant: it is locked while its queue is not empty."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._is_locked = False

    def acquire(self) -> None:
        with self._guard:
            if not self._is_locked:
                self._is_locked = True
                return
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append(turn)
        try:
            turn.acquire()
        except BaseException:  # Ctrl-C, in the main thread
            self._leave(turn)
            raise

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

    _has_turn = False

    @property
    def _lock(self) -> FifoLock:
        return _locks[str(self.settings_dict["NAME"])]

    def _start_transaction_under_autocommit(self) -> None:
        if not self._has_turn:
            self._lock.acquire()
            self._has_turn = True
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]  # missing from the stubs
        except BaseException:
            self._end_turn()
            raise

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
