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
_INTERVAL_S: Final = 0.02
# The group of all sockets: a token was revoked, or somebody logged out.
ACCESS: Final = "access"
# After a failure; views catch up without a wake-up meanwhile.
_PAUSE_S: Final = 1.0


def touch(group: str) -> None:
    """On commit, wake the subscribers of `group`: `runs`, `run.<id>` or `replay.<id>`.

    Does not block. A wake-up that cannot be sent is dropped: the change is stored, and views catch up.
    """

    # A named function, because Django logs the name of a callback that fails; a partial has none.
    def wake() -> None:
        _wake(group)

    transaction.on_commit(wake, robust=True)


def _wake(group: str) -> None:
    _waker.wake(group)


class _Waker:
    """Sends wake-ups from a separate thread and event loop; repeated wake-ups of a group are sent once."""

    def __init__(self) -> None:
        self._groups: dict[str, None] = {}
        self._condition = threading.Condition()
        self._thread: threading.Thread | None = None

    def wake(self, group: str) -> None:
        with self._condition:
            self._groups[group] = None
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="wake-ups", daemon=True)
                self._thread.start()
            self._condition.notify()

    def _run(self) -> None:
        with asyncio.Runner() as runner:
            while True:
                with self._condition:
                    while not self._groups:
                        self._condition.wait()
                    groups, self._groups = list(self._groups), {}
                try:
                    runner.run(asyncio.wait_for(_send(groups), _SEND_LIMIT_S))
                except Exception as error:  # noqa: BLE001 - channel layers raise anything; the next one may succeed
                    logger.warning("wake_ups_lost", groups=len(groups), error=f"{type(error).__name__}: {error}")
                    time.sleep(_PAUSE_S)
                # Those of the next moment are sent together: a live call alone makes four.
                time.sleep(_INTERVAL_S)


async def _send(groups: list[str]) -> None:
    layer = get_channel_layer()
    if layer is not None:
        for group in groups:
            await layer.group_send(group, {"type": "wake", "group": group})


def _reset() -> None:
    """Replace the waker in a forked process, which has none of its parent's threads."""
    global _waker
    _waker = _Waker()


_waker = _Waker()
os.register_at_fork(after_in_child=_reset)
