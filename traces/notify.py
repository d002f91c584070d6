"""Wake-ups for live views: a hint that something changed, never the data itself."""

import asyncio
import os
import threading
import time
from typing import Final

import structlog
from channels.layers import get_channel_layer
from django.db import transaction

logger = structlog.get_logger("live")
_SEND_LIMIT_S: Final = 5.0
_PAUSE_S: Final = 1.0  # after a failure: views catch up by themselves meanwhile


def touch(group: str) -> None:
    """On commit, wake whoever watches `group`: `runs`, `run.<id>` or `replay.<id>`.

    Nobody waits for it. A wake-up that cannot be sent is dropped: the change is stored, and views catch up.
    """

    def wake() -> None:  # a named function: Django names what failed, which a partial has no name for
        _wake(group)

    transaction.on_commit(wake, robust=True)


def _wake(group: str) -> None:
    _waker.wake(group)


class _Waker:
    """Sends from a thread and an event loop of its own; what changes ten times while it sends is sent once."""

    def __init__(self) -> None:
        self._groups: dict[str, None] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def wake(self, group: str) -> None:
        with self._changed:
            self._groups[group] = None
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="wake-ups", daemon=True)
                self._thread.start()
            self._changed.notify()

    def _run(self) -> None:
        with asyncio.Runner() as runner:
            while True:
                with self._changed:
                    while not self._groups:
                        self._changed.wait()
                    groups, self._groups = list(self._groups), {}
                try:
                    runner.run(asyncio.wait_for(_send(groups), _SEND_LIMIT_S))
                except Exception as error:  # noqa: BLE001  # of the layer, of any kind; the next one may get through
                    logger.warning("wake_ups_lost", groups=len(groups), error=f"{type(error).__name__}: {error}")
                    time.sleep(_PAUSE_S)


async def _send(groups: list[str]) -> None:
    layer = get_channel_layer()
    if layer is not None:
        for group in groups:
            await layer.group_send(group, {"type": "wake"})


def _forget() -> None:
    """A forked process has none of the threads of its parent."""
    global _waker
    _waker = _Waker()


_waker = _Waker()
os.register_at_fork(after_in_child=_forget)
