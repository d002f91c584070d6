"""Connection pool of a replay: MCP connections and Python processes, reused between calls."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol, TypeVar

_ClosableT = TypeVar("_ClosableT", bound="Closable")
_open: Final[dict[str, dict[str, "Closable"]]] = {}
# Several threads of one worker run replays.
_lock = threading.Lock()


class Closable(Protocol):
    """A connection or process that a call leaves open for the next call."""

    def close(self) -> None: ...


@contextmanager
def connection_scope(replay: str) -> Iterator[None]:
    """Close the connections of this replay when it ends or pauses."""
    try:
        yield
    finally:
        with _lock:
            remaining = _open.pop(replay, {})
        for connection in remaining.values():
            connection.close()


def take(replay: str, key: str, make: Callable[[], _ClosableT]) -> _ClosableT:
    """Take the connection under `key` out of the pool, or make a new one.

    The caller returns it with `leave`. A failed connection is not returned, so it is not reused.
    """
    with _lock:
        pooled_connection = _open.get(replay, {}).pop(key, None)
    # One key stands for one kind.
    return make() if pooled_connection is None else pooled_connection  # type: ignore[return-value]


def leave(replay: str, key: str, connection: Closable) -> None:
    """Return a connection to the pool for the next call of the replay."""
    with _lock:
        previous = _open.setdefault(replay, {}).pop(key, None)
        _open[replay][key] = connection
    if previous is not None:
        previous.close()
