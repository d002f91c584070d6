"""Model steps whose outcome a plan knows without building their requests. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from replay.core.context import ReplayContext
from replay.core.graph import Link, Node
from replay.inputs.changes import Incoming
from replay.state.replay_state import ReplayState
from traces.core.vocabulary import EdgeKind

# Links that replace a whole message, whatever its new value.
_PUT_IN_WHOLE: Final = frozenset({EdgeKind.HISTORY, EdgeKind.TOOL_CALL_ID})


class Foreseen(Enum):
    """A request that a plan need not build: without a recorded answer, or equal to the recorded one."""

    NEW = auto()
    UNCHANGED = auto()


@dataclass
class Dependence:
    """What a plan depends on: `foreseen` steps, requests of edited steps, overridden outputs, texts of placeholders."""

    foreseen: list[Node] = field(default_factory=list)
    on_requests: bool = False
    on_outputs: bool = False
    on_placeholders: bool = False


class Foresight:
    """Decides for which model steps a plan needs no request."""

    def __init__(self, context: ReplayContext, state: ReplayState) -> None:
        self._known_requests = context.known_requests
        self._readers = frozenset(reader for _, reader in context.known_requests.new_results)
        self._tasks = state.tasks
        self._histories = state.histories
        self.dependence = Dependence()

    def request_of(self, node: Node, changed: Iterable[Link]) -> Foreseen | None:
        """What a plan knows about a step's request, if anything; `changed` are its links to changed inputs."""
        known_requests = self._known_requests
        is_live = node.no in known_requests.live
        is_edited = node.no in known_requests.new or node.no in known_requests.unchanged
        if not (is_live or is_edited or node.no in self._readers) or self._tasks.has(node):
            return None
        links = list(changed)
        if is_live:
            return Foreseen.NEW if all(map(_is_put_in_whole, links)) else None
        if links:
            return self._with_new_results(node, links)
        if not is_edited:
            return None
        self.dependence.foreseen.append(node)
        return Foreseen.UNCHANGED if node.no in known_requests.unchanged else Foreseen.NEW

    def _with_new_results(self, node: Node, links: Sequence[Link]) -> Foreseen | None:
        new_results = self._known_requests.new_results
        if not all(_is_put_in_whole(link) and (link.producer, node.no) in new_results for link in links):
            return None
        # Requests that repeat this one contain the new result, too.
        self._histories.unknowable.add(node.no)
        return Foreseen.NEW

    def record_dependence(self, node: Node, incoming: Incoming) -> None:
        """Record that a plan depends on the request of a step."""
        is_known = any(change.is_known for _, change in incoming)
        self.dependence.on_outputs |= is_known
        self.dependence.on_placeholders |= not all(
            change.is_known or _is_put_in_whole(link) for link, change in incoming
        )
        self.dependence.on_requests |= node.no in self._known_requests.new or (
            is_known and node.no in self._known_requests.live
        )


def _is_put_in_whole(link: Link) -> bool:
    return link.kind in _PUT_IN_WHOLE and not link.copies
