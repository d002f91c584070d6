"""Model steps whose outcome a plan knows without building their requests. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from replay.core.context import ReplayContext
from replay.core.graph import Link, Node
from replay.inputs.changes import Incoming
from replay.state.replay_state import ReplayState
from traces.core.vocabulary import EdgeKind, StepType

# Links that replace a whole message, whatever its new value.
_PUT_IN_WHOLE: Final = frozenset({EdgeKind.HISTORY, EdgeKind.TOOL_CALL_ID})


@dataclass
class Dependence:
    """What a plan depends on: `foreseen` steps, requests of edited steps, overridden outputs."""

    foreseen: list[Node] = field(default_factory=list)
    on_requests: bool = False
    on_outputs: bool = False


class Foresight:
    """Decides for which edited model steps a plan needs no request."""

    def __init__(self, context: ReplayContext, state: ReplayState) -> None:
        self._edited_models = context.edited_models
        self._asks_anew = context.policy.reexecutes(StepType.MODEL)
        self._tasks = state.tasks
        self.dependence = Dependence()

    def has(self, node: Node, changed: Iterable[Link]) -> bool:
        """True if a step needs no request; `changed` are its links to changed inputs."""
        edited_models = self._edited_models
        if not (node.no in edited_models.live or node.no in edited_models.unchanged) or self._tasks.has(node):
            return False
        if self._asks_anew:
            return all(map(_is_put_in_whole, changed))
        if any(True for _ in changed):
            return False
        self.dependence.foreseen.append(node)
        return True

    def repeats(self, node: Node) -> bool:
        """True if a step's edits equal the recording."""
        return node.no in self._edited_models.unchanged

    def record_dependence(self, node: Node, incoming: Incoming) -> None:
        """Record that a plan depends on the request of a step."""
        is_known = any(change.is_known for _, change in incoming)
        self.dependence.on_outputs |= is_known
        if node.no in self._edited_models.live:
            self.dependence.on_requests |= is_known or not self._asks_anew


def _is_put_in_whole(link: Link) -> bool:
    return link.kind in _PUT_IN_WHOLE and not link.copies
