"""Model steps of a plan whose requests nobody needs to know: what becomes of them is known without. Pure."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from replay.graph import Link, Node
from traces.vocabulary import EdgeKind, StepType

if TYPE_CHECKING:
    from replay.rebuild import Incoming
    from replay.walk import Walk

_PUT_IN_WHOLE: Final = frozenset({EdgeKind.HISTORY, EdgeKind.TOOL_CALL_ID})  # into messages, whatever the new value is


@dataclass(frozen=True, kw_only=True)
class Edited:
    """Edited model steps by number: those that are `asked` live, and those whose edits state what is recorded.

    Both hold where nothing but its own edits changes what a step is asked.
    """

    asked: Collection[int] = frozenset()
    repeated: Collection[int] = frozenset()


@dataclass
class Dependence:
    """What a walk depends on: that these steps are `foreseen`, the requests of edited steps, or given outputs."""

    foreseen: list[Node] = field(default_factory=list)
    on_requests: bool = False
    on_outputs: bool = False


class Foresight:
    """How one walk deals with edited model steps."""

    def __init__(self, walk: "Walk", edited: Edited) -> None:
        self._walk = walk
        self._edited = edited
        self.dependence = Dependence()

    def has(self, node: Node) -> bool:
        """Whether a step needs no request."""
        walk, edited = self._walk, self._edited
        if not (node.no in edited.asked or node.no in edited.repeated) or walk.subagents.has_task(node):
            return False
        changed = walk.changed_links(node)
        if walk.policy.asks_anew(StepType.MODEL):
            return all(map(_is_put_in_whole, changed))
        if any(True for _ in changed):
            return False
        self.dependence.foreseen.append(node)
        return True

    def repeats(self, node: Node) -> bool:
        """Whether a step's edits state what is recorded."""
        return node.no in self._edited.repeated

    def look(self, node: Node, incoming: "Incoming") -> None:
        """Note that the request of a step is built."""
        known = any(change.answered for _, change in incoming)
        self.dependence.on_outputs |= known
        if node.no in self._edited.asked:
            self.dependence.on_requests |= known or not self._walk.policy.asks_anew(StepType.MODEL)


def _is_put_in_whole(link: Link) -> bool:
    return link.kind in _PUT_IN_WHOLE and not link.copied
