"""Steps that hold others, such as agents and turns: judged once all that stands inside of them has come. Pure."""

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from replay.endings import Ending, Inside, ending
from replay.graph import CONTAINERS, Node
from replay.rebuild import Change
from replay.wording import result_kept
from replay.world import Answer, Call, Closed, Diverged, Event, Gone, Kept, Resolved
from traces.canonical import digest
from traces.json_types import JSONValue
from traces.vocabulary import Label, StepType

if TYPE_CHECKING:
    from replay.walk import Walk


class Closings:
    """The steps around others in which something is not as recorded, until they end."""

    def __init__(self, walk: "Walk") -> None:
        self._walk = walk
        self._inside: dict[int, Inside] = {}  # by the step around
        self._ends: list[tuple[int, int]] = []
        self._begun: dict[int, Answer] = {}  # what stood for a step around others when the walk came to it
        self._closed: set[int] = set()
        self._said: dict[int, JSONValue] = {}
        self.live: set[int] = set()  # what ended with words of live calls

    def heed(self, event: Event) -> None:
        """Note what is not as recorded: whatever encloses it may end otherwise."""
        match event:
            case Kept():
                for no in event.assumed:
                    self._not_exact(self._walk.graph.by_no[no], Label.SIMULATED)
            case Resolved(call=Call(node=None)):
                self._added(event.call.parent, event.answer.label)
            case Resolved(call=Call(node=Node() as node)) if event.answer.label is not Label.EXACT:
                self._not_exact(node, event.answer.label)
            case Gone():
                self._around(event.node)

    def changed(self, node: Node) -> None:
        """What encloses `node` may say something else now."""
        for inside in self._around(node):
            inside.steps.add(node.no)

    def begin(self, node: Node, answer: Answer) -> None:
        """`node` was given something else than recorded: `answer` stands for it until its inside has come."""
        self._begun[node.no] = answer
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
        """Say how a step ends, where something inside of it is not as recorded."""
        walk = self._walk
        if node.no in self._closed or node.no not in self._inside:
            return
        self._closed.add(node.no)
        for inner in reversed(walk.graph.inside(node.no)):
            yield from self.close(inner)
        if node.no not in walk.gone and not self._is_settled(node):
            yield from self._end(node)
            yield from walk.answerers.closed(node)

    def _is_settled(self, node: Node) -> bool:
        """Whether the step was answered as a whole: by the operator, a cache or a placeholder."""
        walk = self._walk
        if node.no in self._begun:
            return False
        label, _ = walk.labels.get(node.no, (Label.EXACT, None))
        return label is not Label.EXACT or node.no in {*walk.changes, *walk.profile.by_step} or node.lacks("output")

    def _around(self, node: Node) -> list[Inside]:
        return [self._open(around) for around in self._walk.graph.ancestors(node)]

    def _not_exact(self, node: Node, label: Label | None) -> None:
        for inside in self._around(node):
            inside.steps.add(node.no)
            inside.weaken(label)

    def _added(self, parent: int | None, label: Label | None) -> None:
        """A step that was not recorded came in a step around others, which may be one that was not recorded either."""
        walk = self._walk
        holders = (no for no in walk.graph.children if no is not None and walk.parent_of(no) == parent)
        holder = walk.graph.by_no.get(next(holders, 0))
        for inside in () if holder is None else [self._open(holder), *self._around(holder)]:
            inside.weaken(label)

    def _open(self, node: Node) -> Inside:
        if node.no not in self._inside:
            self._inside[node.no] = Inside()
            heappush(self._ends, (self._walk.graph.ends.get(node.no, node.no), -node.no))
        return self._inside[node.no]

    def _end(self, node: Node) -> Iterator[Event]:
        walk, inside = self._walk, self._inside[node.no]
        recorded = walk.world.payload(node.output_ref) if node.output_ref else None
        ended = ending(walk, node, recorded, inside, self._begun.get(node.no))
        yield self._event(node, ended)
        walk.labels[node.no] = ended.label, ended.reason
        if any(map(walk.waits_for_live, ended.origins)):
            self.live.add(node.no)
        if ended.is_assumed:
            walk.reach.assume(node.no)
        if digest(ended.output) != digest(recorded):
            self._said[node.no] = ended.output
            if node.type not in CONTAINERS:
                answered = all(walk.changes[no].answered for no in ended.origins if no in walk.changes)
                walk.change(Change(node=node, recorded=recorded, current=ended.output, answered=answered))
        elif ended.is_assumed and node.type is StepType.TOOL:
            last = walk.graph.last_model(node.no)
            if last is not None and last.no in walk.changes:
                yield Diverged(text=result_kept(last.no, node.no))

    def _event(self, node: Node, ended: Ending) -> Closed:
        numbers = self._walk.numbers
        return Closed(
            node=node, no=numbers.get(node.no, node.no), output=ended.output, label=ended.label, reason=ended.reason,
            output_from=tuple(numbers.get(no, no) for no in ended.origins), note=ended.note,
        )  # fmt: skip
