"""Live calls of reruns: one process makes a call, and a request that needs the same answer waits for it.

An agent that is killed and started again may reach another web process, which must not make the call once more. As for
the leases of sessions, an observer measures on its own clock how long a call has shown no sign of life.
"""

import asyncio
import time
from contextlib import suppress
from typing import Final

from django.conf import settings
from django.db import DatabaseError

from cockpit.gateway.transport.database import connection
from replay.execution import leases
from replay.reruns import exchanges

_POLL_S: Final = 0.25


class LiveCalls:
    """The calls that this process makes, and a way to wait for those of other processes."""

    def __init__(self) -> None:
        self.owner: Final = leases.new_owner()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._beats: asyncio.Task[None] | None = None

    def add(self, call_id: int, task: asyncio.Task[None]) -> None:
        """Beat for a call until its task has ended."""
        self._tasks[call_id] = task
        task.add_done_callback(lambda _: self._tasks.pop(call_id, None))
        if self._beats is None or self._beats.done():
            self._beats = asyncio.create_task(self._beat())

    async def wait(self, call_id: int) -> None:
        """Wait until the answer of a call is stored, or the call may be made again."""
        if task := self._tasks.get(call_id):
            await asyncio.wait([task])
            return
        last_sign, changed_at = ("", 0), time.monotonic()
        while (sign := await asyncio.to_thread(_sign_of_life, call_id))[0]:
            now = time.monotonic()
            if sign != last_sign:
                last_sign, changed_at = sign, now
            elif now - changed_at > settings.TAKEOVER_S:
                await asyncio.to_thread(_take_from, call_id, sign[0])
                return
            await asyncio.sleep(_POLL_S)

    async def _beat(self) -> None:
        while self._tasks:
            # An outage of the database is no reason to end: beats go on after it.
            with suppress(DatabaseError):
                await asyncio.to_thread(_beat, [*self._tasks])
            await asyncio.sleep(leases.beat_s())


def _beat(call_ids: list[int]) -> None:
    with connection():
        exchanges.beat(call_ids)


def _sign_of_life(call_id: int) -> tuple[str, int]:
    with connection():
        return exchanges.sign_of_life(call_id)


def _take_from(call_id: int, owner: str) -> None:
    with connection():
        exchanges.take_from(call_id, owner)
