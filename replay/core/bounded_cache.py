"""Values in memory, with limits on weight and age. Pure."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class BoundedCache(Generic[T]):
    """Most recently used values by key; a value heavier than the whole cache is not stored."""

    def __init__(self, *, capacity: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._capacity = capacity
        self._seconds = seconds
        self._clock = clock
        self._weight = 0
        self._lock = Lock()
        self._entries: OrderedDict[Hashable, tuple[float, int, T]] = OrderedDict()

    def get(self, key: Hashable) -> T | None:
        """Return the value under this key unless it has expired."""
        with self._lock:
            if key not in self._entries:
                return None
            made_at, _, value = self._entries[key]
            if self._clock() - made_at >= self._seconds:
                self._remove(key)
                return None
            self._entries.move_to_end(key)
            return value

    def store(self, key: Hashable, value: T, *, weight: int) -> None:
        """Store a value; the least recently used values make room."""
        with self._lock:
            if key in self._entries:
                self._remove(key)
            if weight > self._capacity:
                return
            while self._weight + weight > self._capacity:
                self._remove(next(iter(self._entries)))
            self._entries[key] = self._clock(), weight, value
            self._weight += weight

    def _remove(self, key: Hashable) -> None:
        self._weight -= self._entries.pop(key)[1]
