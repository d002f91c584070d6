"""Runs of steps that keep their recorded outputs, collected so that they are copied many at once. Pure."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from replay.graph import Node
from replay.world import Kept
from traces.json_types import JSONObject
from traces.vocabulary import Label, Reason

if TYPE_CHECKING:
    from replay.walk import Walk


class Keeping:
    """The steps since the last one that was resolved."""

    def __init__(self, walk: "Walk") -> None:
        self._walk = walk
        self._nodes: list[Node] = []
        self._assumed: dict[int, JSONObject] = {}

    def add(self, node: Node) -> Iterator[Kept]:
        """Keep one more step: with those before it, where it follows them and is kept for the same reason."""
        assumption = self._walk.reach.of(node)
        last = self._nodes[-1].no if self._nodes else None
        if last is not None and (last + 1 != node.no or bool(assumption) != bool(self._assumed)):
            yield from self.flush()
        self._nodes.append(node)
        if assumption is not None:
            self._assumed[node.no] = assumption
            self._walk.labels[node.no] = (Label.SIMULATED, Reason.ASSUMED_UNAFFECTED)

    def flush(self) -> Iterator[Kept]:
        """All steps that are waiting."""
        if not self._nodes:
            return
        nodes, assumed = self._nodes, self._assumed
        self._nodes, self._assumed = [], {}
        walk = self._walk
        offset = walk.next_no - nodes[0].no
        if offset:
            walk.numbers_moved = True
            walk.numbers.update({node.no: node.no + offset for node in nodes})
        walk.next_no += len(nodes)
        yield Kept(first=nodes[0].no, last=nodes[-1].no, offset=offset, assumed=assumed)
