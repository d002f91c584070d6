"""How many requests run at once. Those that wait for a slow client do not count, so they hold no others up.

Views are synchronous: a request occupies a thread until its body has arrived and its response has left. There are
more threads than slots, for the requests that wait.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from typing import Final

import structlog

from cockpit.http.transfer.waiting import Waiting

log = structlog.get_logger("cockpit.http.transfer.slots")

# Seconds that a request may wait for its client, in total, before it passes its slot on.
FREE_S: Final = 0.5
# Probes of health and readiness that run at once.
_PROBES: Final = 4


class FairSemaphore:
    """A semaphore whose waiters get their turns by party: one party with many of them delays the others by one turn."""

    def __init__(self, value: int) -> None:
        self._value = value
        # Oldest first. The parties in the order of their next turns; none is empty.
        self._waiters: dict[Hashable, deque[asyncio.Future[None]]] = {}

    async def acquire(self, party: Hashable) -> None:
        if self._value:
            self._value -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.setdefault(party, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            # The turn came together with the cancellation. Turns that are cancelled while they wait are passed over.
            if not turn.cancelled():
                self.release()
            raise

    def has_others(self, party: Hashable) -> bool:
        """True if another party waits."""
        return any(waiter != party for waiter in self._waiters)

    def release(self) -> None:
        while self._waiters:
            party = next(iter(self._waiters))
            turns = self._waiters.pop(party)
            turn = turns.popleft()
            if turns:
                self._waiters[party] = turns
            if not turn.done():
                turn.set_result(None)
                return
        self._value += 1


class Slots:
    """At most `active` requests run, and `slow` others wait for their clients."""

    def __init__(self, *, active: int, slow: int, slow_per_address: int) -> None:
        self.free = FairSemaphore(active)
        # Probes have their own: while all other requests wait for a service that hangs, the process still reports it.
        self.probes = FairSemaphore(_PROBES)
        self.slow: Waiting[Turn] = Waiting(total=slow, per_address=slow_per_address)
        self.threads = active + slow + _PROBES


class Turn:
    """The slot of one request. Once the request has waited for its client for long, it runs without one."""

    def __init__(self, slots: Slots, address: str, *, is_pipelined: bool = False, is_probe: bool = False) -> None:
        self.address = address
        self._semaphore = slots.probes if is_probe else slots.free
        # Clients that await their responses do not queue behind those that send many requests at once.
        self._party = (address, is_pipelined)
        self._slots = slots
        self._free_s = FREE_S
        self._has_slot = False
        self._is_dropped = False
        self._timeouts: set[asyncio.Timeout] = set()

    async def __aenter__(self) -> "Turn":
        await self._semaphore.acquire(self._party)
        self._has_slot = True
        return self

    async def __aexit__(self, *_: object) -> None:
        self._slots.slow.remove(self)
        if self._has_slot:
            self._semaphore.release()

    @property
    def delays_others(self) -> bool:
        """True if somebody else waits for a slot."""
        return self._semaphore.has_others(self._party)

    @asynccontextmanager
    async def patience(self, seconds: float) -> AsyncIterator[None]:
        """Wait for the client in the block; raises `TimeoutError` after some seconds, or if too many requests wait."""
        loop = asyncio.get_running_loop()
        start = loop.time()
        timer = loop.call_later(self._free_s, self._pass_on) if self._has_slot else None
        try:
            async with asyncio.timeout(0.0 if self._is_dropped else seconds) as timeout:
                self._timeouts.add(timeout)
                try:
                    yield
                finally:
                    self._timeouts.discard(timeout)
        finally:
            if timer is not None:
                timer.cancel()
            self._free_s = max(0.0, self._free_s - (loop.time() - start))

    def give_up(self, reason: str) -> None:
        """End all waits for the client."""
        log.info("request_dropped", reason=reason, address=self.address)
        self._is_dropped = True
        self._slots.slow.remove(self)
        for timeout in self._timeouts:
            timeout.reschedule(0.0)

    def _pass_on(self) -> None:
        self._has_slot = False
        self._semaphore.release()
        self._slots.slow.add(self)
