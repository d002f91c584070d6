"""What stays open between the calls of one replay: connections to MCP servers, processes of Python callables."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol, TypeVar

_Kept = TypeVar("_Kept", bound="Closable")
_open: Final[dict[str, dict[str, "Closable"]]] = {}
_lock = threading.Lock()  # replays begin and end in several threads of one worker


class Closable(Protocol):
    """Something that a call left open for the next."""

    def close(self) -> None: ...


@contextmanager
def connection_scope(replay: str) -> Iterator[None]:
    """Close what calls of this replay leave open, when it ends or waits."""
    try:
        yield
    finally:
        with _lock:
            left = _open.pop(replay, {})
        for one in left.values():
            one.close()


def take(replay: str, key: str, make: Callable[[], _Kept]) -> _Kept:
    """What an earlier call of the replay left under `key`, else a new one. It is the caller's until it is left again.

    One that fails is not left again, and so not used again.
    """
    with _lock:
        known = _open.get(replay, {}).pop(key, None)
    return make() if known is None else known  # type: ignore[return-value]  # one key stands for one kind


def leave(replay: str, key: str, one: Closable) -> None:
    """Keep it for the next call of the replay."""
    with _lock:
        before = _open.setdefault(replay, {}).pop(key, None)
        _open[replay][key] = one
    if before is not None:
        before.close()
