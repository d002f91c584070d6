"""Ranges of reused steps, collected so that many are copied at once. Pure."""

from collections.abc import Iterator

from replay.calls.reach import Reach
from replay.core.events import StepsReused
from replay.core.graph import Node
from replay.state.replay_state import ReplayState
from traces.core.json_types import JSONObject
from traces.core.vocabulary import Label, Reason


class ReusedRanges:
    """Reused steps since the last resolved one."""

    def __init__(self, state: ReplayState, reach: Reach) -> None:
        self._state = state
        self._reach = reach
        self._nodes: list[Node] = []
        self._assumptions: dict[int, JSONObject] = {}

    def __bool__(self) -> bool:
        """True if a range is open."""
        return bool(self._nodes)

    def add(self, node: Node) -> Iterator[StepsReused]:
        """Add a step; starts a new range unless it follows the last one and is reused for the same reason."""
        assumption = self._reach.assumption(node)
        last = self._nodes[-1].no if self._nodes else None
        if last is not None and (last + 1 != node.no or bool(assumption) != bool(self._assumptions)):
            yield from self.flush()
        self._nodes.append(node)
        if assumption is not None:
            self._assumptions[node.no] = assumption
            self._state.assumed_steps.add(node.no)
            self._state.labels[node.no] = (Label.SIMULATED, Reason.ASSUMED_UNAFFECTED)

    def flush(self) -> Iterator[StepsReused]:
        """Yield the open range."""
        if not self._nodes:
            return
        nodes, assumptions = self._nodes, self._assumptions
        self._nodes, self._assumptions = [], {}
        offset = self._state.number_block(nodes)
        yield StepsReused(first=nodes[0].no, last=nodes[-1].no, offset=offset, assumptions=assumptions)
