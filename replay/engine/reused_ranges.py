"""Runs of steps that keep their recorded outputs, collected so that they are copied many at once. Pure."""

from collections.abc import Iterator

from replay.calls.reach import Reach
from replay.core.events import StepsReused
from replay.core.graph import Node
from replay.state.replay_state import ReplayState
from traces.core.json_types import JSONObject
from traces.core.vocabulary import Label, Reason


class ReusedRanges:
    """The steps since the last one that was resolved."""

    def __init__(self, state: ReplayState, reach: Reach) -> None:
        self._state = state
        self._reach = reach
        self._nodes: list[Node] = []
        self._assumed: dict[int, JSONObject] = {}

    def add(self, node: Node) -> Iterator[StepsReused]:
        """Keep one more step: with those before it, where it follows them and is kept for the same reason."""
        assumption = self._reach.of(node)
        last = self._nodes[-1].no if self._nodes else None
        if last is not None and (last + 1 != node.no or bool(assumption) != bool(self._assumed)):
            yield from self.flush()
        self._nodes.append(node)
        if assumption is not None:
            self._assumed[node.no] = assumption
            self._state.labels[node.no] = (Label.SIMULATED, Reason.ASSUMED_UNAFFECTED)

    def flush(self) -> Iterator[StepsReused]:
        """All steps that are waiting."""
        if not self._nodes:
            return
        nodes, assumed = self._nodes, self._assumed
        self._nodes, self._assumed = [], {}
        offset = self._state.number_all(nodes)
        yield StepsReused(first=nodes[0].no, last=nodes[-1].no, offset=offset, assumed=assumed)
