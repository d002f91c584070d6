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
        self._next_index = 0
        self._held_back: set[int] = set()
        self._released_heap: list[tuple[int, Node]] = []
        self._done_numbers: set[int] = set()

    def next(self, before: int | None = None) -> Node | None:
        """Take the next step with a number below `before`; None if there is none."""
        while (node := self._first()) is not None:
            if before is not None and node.no >= before:
                return None
            if self._released_heap and self._released_heap[0][1] is node:
                heappop(self._released_heap)
            else:
                self._next_index += 1
            if not self.is_done(node) and node.no not in self._held_back:
                self.mark_done(node)
                return node
        return None

    def hold(self, nodes: Iterable[Node]) -> None:
        """Hold steps back until they are released."""
        self._held_back.update(node.no for node in nodes)

    def release(self, nodes: Iterable[Node]) -> None:
        """Release held steps into their recorded order."""
        next_no = self._nodes[self._next_index].no if self._next_index < len(self._nodes) else None
        for node in nodes:
            if node.no in self._held_back:
                self._held_back.discard(node.no)
                if next_no is None or node.no < next_no:
                    # Later steps are still in the queue.
                    heappush(self._released_heap, (node.no, node))

    def mark_done(self, node: Node) -> None:
        self._done_numbers.add(node.no)

    def is_done(self, node: Node) -> bool:
        return node.no in self._done_numbers

    def _first(self) -> Node | None:
        next_queued = self._nodes[self._next_index] if self._next_index < len(self._nodes) else None
        if not self._released_heap:
            return next_queued
        next_released = self._released_heap[0][1]
        return next_released if next_queued is None or next_released.no <= next_queued.no else next_queued
