"""Order in which a replay visits source steps. Pure.

Steps are visited in recorded order. A diverged loop holds back its steps and releases those that still run.
"""

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush

from replay.core.graph import Node


class StepQueue:
    """Source steps that are not visited yet."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._at = 0
        self._held: set[int] = set()
        self._released: list[tuple[int, Node]] = []
        self._done: set[int] = set()

    def next(self, before: int | None = None) -> Node | None:
        """Take the next step with a number below `before`; None if there is none."""
        while (node := self._first()) is not None:
            if before is not None and node.no >= before:
                return None
            if self._released and self._released[0][1] is node:
                heappop(self._released)
            else:
                self._at += 1
            if not self.is_done(node) and node.no not in self._held:
                self.done(node)
                return node
        return None

    def hold(self, nodes: Iterable[Node]) -> None:
        """Hold steps back until they are released."""
        self._held.update(node.no for node in nodes)

    def release(self, nodes: Iterable[Node]) -> None:
        """Release held steps into their recorded order."""
        for node in nodes:
            if node.no in self._held:
                self._held.discard(node.no)
                heappush(self._released, (node.no, node))

    def done(self, node: Node) -> None:
        self._done.add(node.no)

    def is_done(self, node: Node) -> bool:
        return node.no in self._done

    def _first(self) -> Node | None:
        upcoming = self._nodes[self._at] if self._at < len(self._nodes) else None
        released = self._released[0][1] if self._released else None
        if upcoming is None or released is None:
            return upcoming or released
        return released if released.no <= upcoming.no else upcoming
