"""Steps that hold others: what they say follows from what was said inside them, once all of it has come. Pure."""

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from replay.graph import CONTAINERS, Node
from replay.rebuild import Change, answer_of, replaced_in, text_of
from replay.wording import result_kept
from replay.world import Answer, Closed, Diverged, Event
from traces.canonical import digest
from traces.json_types import JSONValue
from traces.vocabulary import StepType

if TYPE_CHECKING:
    from replay.walk import Walk


class Closings:
    """The steps around changes that are still open."""

    def __init__(self, walk: "Walk") -> None:
        self._walk = walk
        self._changed: dict[int, list[int]] = {}  # by the step around them
        self._ends: list[tuple[int, int]] = []
        self._run_anew: dict[int, Answer] = {}
        self._closed: set[int] = set()
        self._said: dict[int, JSONValue] = {}

    def changed(self, node: Node) -> None:
        """What encloses `node` may say something else now."""
        for around in self._walk.graph.ancestors(node):
            self._open(around)
            self._changed[around.no].append(node.no)

    def run_anew(self, node: Node, answer: Answer) -> None:
        """The recorded output of `node` counts no more: it ends with what is said inside."""
        self._run_anew[node.no] = answer
        self._open(node)

    def said(self, node: Node) -> JSONValue:
        """What a step around others says now that it is closed; None where that is as recorded."""
        return self._said.get(node.no)

    def are_due(self, no: int) -> bool:
        """Whether something ended before step `no`."""
        return bool(self._ends) and self._ends[0][0] < no

    def before(self, no: int) -> Iterator[Event]:
        """Close what ended before step `no`, inner steps first."""
        while self.are_due(no):
            yield from self.close(self._walk.graph.by_no[-heappop(self._ends)[1]])

    def close(self, node: Node) -> Iterator[Event]:
        """Give a step the output that its inside has now, where that can be told from the recording."""
        walk = self._walk
        if node.no in self._closed or node.no not in self._changed:
            return
        self._closed.add(node.no)
        for inner in reversed(walk.graph.inside(node.no)):
            yield from self.close(inner)
        if node.no in walk.gone or node.no in walk.changes or node.no in walk.profile.by_step:
            return
        inside = [walk.changes[no] for no in sorted(set(self._changed[node.no]), reverse=True) if no in walk.changes]
        recorded = walk.world.payload(node.output_ref) if node.output_ref else None
        if node.no in self._run_anew:
            yield from self._end(node, recorded, inside)
        elif node.output_ref:
            yield from self._derive(node, recorded, inside)
        yield from walk.answerers.closed(node)

    def _open(self, node: Node) -> None:
        if node.no not in self._changed:
            self._changed[node.no] = []
            heappush(self._ends, (self._walk.graph.ends.get(node.no, node.no), -node.no))

    def _derive(self, node: Node, recorded: JSONValue, inside: list[Change]) -> Iterator[Event]:
        for change in inside:
            output = replaced_in(recorded, [change])
            if digest(output) != digest(recorded):
                yield from self._say(node, recorded, output, change)
                return
        if node.type is StepType.TOOL and inside and inside[0].node is self._last_model(node):
            yield Diverged(text=result_kept(inside[0].node.no, node.no))

    def _end(self, node: Node, recorded: JSONValue, inside: list[Change]) -> Iterator[Event]:
        """End a step whose inside was run for another task."""
        for change in inside:
            output = replaced_in(recorded, [change])
            if digest(output) != digest(recorded):
                yield from self._say(node, recorded, output, change)
                return
        said = next((change for change in inside if change.node is self._last_model(node)), None)
        if said is None:  # the same words were said to another task
            yield self._closing(node, recorded, self._run_anew[node.no], self._last_model(node) or node)
            return
        text = text_of(answer_of(said.current))
        yield from self._say(node, recorded, {"text": text} if node.type in CONTAINERS else text, said)

    def _say(self, node: Node, recorded: JSONValue, output: JSONValue, change: Change) -> Iterator[Event]:
        walk = self._walk
        self._said[node.no] = output
        yield self._closing(node, output, self._run_anew.get(node.no), change.node)
        if node.type is StepType.TOOL:
            walk.labels[node.no] = walk.label_of(change.node)
            walk.change(Change(node=node, recorded=recorded, current=output, answered=change.answered))

    def _closing(self, node: Node, output: JSONValue, anew: Answer | None, source: Node) -> Closed:
        walk = self._walk
        label, reason = walk.label_of(source)
        if anew is not None and source.no not in walk.labels and anew.label and anew.reason:
            label, reason = anew.label, anew.reason
        return Closed(
            node=node, no=walk.numbers.get(node.no, node.no), output=output, label=label, reason=reason,
            output_from=walk.numbers.get(source.no, source.no), inherited=node.no < walk.graph.fork,
        )  # fmt: skip

    def _last_model(self, node: Node) -> Node | None:
        models = [step for step in self._walk.graph.inside(node.no) if step.type is StepType.MODEL]
        return models[-1] if models else None
