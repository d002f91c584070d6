"""A bounded set of connections or requests that wait for their clients: if there are too many, the oldest go."""

from typing import Generic, Protocol, TypeVar


class Waiter(Protocol):
    """Something that waits for a client at an address."""

    @property
    def address(self) -> str: ...
    def give_up(self, reason: str) -> None:
        """End the wait and leave the set."""


W = TypeVar("W", bound=Waiter)


class Waiting(Generic[W]):
    """Those of one server that wait, oldest first; at most `total`, and `per_address` of one address."""

    def __init__(self, *, total: int, per_address: int) -> None:
        self.total = total
        self.per_address = per_address
        self._waiters: dict[W, None] = {}
        self._by_address: dict[str, dict[W, None]] = {}

    def __len__(self) -> int:
        return len(self._waiters)

    def add(self, waiter: W) -> None:
        """Add one that begins to wait; the oldest one gives up if there are too many."""
        siblings = self._by_address.setdefault(waiter.address, {})
        self._waiters[waiter] = siblings[waiter] = None
        if len(siblings) > self.per_address:
            next(iter(siblings)).give_up("too many of its address wait")
        elif len(self._waiters) > self.total:
            next(iter(self._waiters)).give_up("too many wait")

    def remove(self, waiter: W) -> None:
        self._waiters.pop(waiter, None)
        siblings = self._by_address.get(waiter.address, {})
        siblings.pop(waiter, None)
        if not siblings:
            self._by_address.pop(waiter.address, None)
