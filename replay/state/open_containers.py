"""Steps around others in which something is not as recorded, until they end. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush

from replay.core.calls import SEVERITY, Answer, Call
from replay.core.events import Event, Resolved, StepSkipped, StepsReused
from replay.core.graph import Graph, Node
from traces.core.json_types import JSONValue
from traces.core.vocabulary import Label


@dataclass
class Inside:
    """What is not as recorded in a step that holds others: `steps` of the source, and the weakest label of all."""

    steps: set[int] = field(default_factory=set)
    weakest: Label = Label.EXACT

    def weaken(self, label: Label | None) -> None:
        """Another step stands inside."""
        if label is not None and SEVERITY[label] > SEVERITY[self.weakest]:
            self.weakest = label


class OpenContainers:
    """What is known of them; whoever closes them looks it up."""

    def __init__(self, graph: Graph, numbers: Mapping[int, int]) -> None:
        self._graph = graph
        self._numbers = numbers  # of the source's steps in the derived run
        self._inside: dict[int, Inside] = {}  # by the step around
        self._ends: list[tuple[int, int]] = []
        self._closed: set[int] = set()
        self.begun: dict[int, Answer] = {}  # what stood for a step around others when the replay came to it
        self.outputs: dict[int, JSONValue] = {}  # of those that ended otherwise than recorded
        self.live: set[int] = set()  # what ended with words of live calls

    def note(self, event: Event) -> None:
        """Whatever encloses what is not as recorded may end otherwise."""
        match event:
            case StepsReused():
                for no in event.assumed:
                    self._not_exact(self._graph.by_no[no], Label.SIMULATED)
            case Resolved(call=Call(node=None)):
                self._added(event.call.parent, event.answer.label)
            case Resolved(call=Call(node=Node() as node)) if event.answer.label is not Label.EXACT:
                self._not_exact(node, event.answer.label)
            case StepSkipped():
                self._around(event.node)

    def changed(self, node: Node) -> None:
        """What encloses `node` may say something else now."""
        for inside in self._around(node):
            inside.steps.add(node.no)

    def begin(self, node: Node, answer: Answer) -> None:
        """`node` was given something else than recorded: `answer` stands for it until its inside has come."""
        self.begun[node.no] = answer
        self._open(node)

    def are_due(self, no: int) -> bool:
        """Whether something ended before step `no`."""
        return bool(self._ends) and self._ends[0][0] < no

    def next_due(self) -> Node:
        """What ended first, inner steps before those around them."""
        return self._graph.by_no[-heappop(self._ends)[1]]

    def closed(self, node: Node) -> Inside | None:
        """What is not as recorded inside of a step that ends now; None where nothing is, or it ended before."""
        if node.no in self._closed or node.no not in self._inside:
            return None
        self._closed.add(node.no)
        return self._inside[node.no]

    def _around(self, node: Node) -> list[Inside]:
        return [self._open(around) for around in self._graph.ancestors(node)]

    def _not_exact(self, node: Node, label: Label | None) -> None:
        for inside in self._around(node):
            inside.steps.add(node.no)
            inside.weaken(label)

    def _added(self, parent: int | None, label: Label | None) -> None:
        """A step that was not recorded came in a step around others, which may be one that was not recorded either."""
        if (holder := self._holder(parent)) is None:
            return
        for inside in (self._open(holder), *self._around(holder)):
            inside.weaken(label)

    def _holder(self, number: int | None) -> Node | None:
        """The step around others that has this number in the derived run."""
        holders: Iterable[int] = (no for no in self._graph.children if no is not None)
        found = next((no for no in holders if self._numbers.get(no, no) == number), None)
        return None if found is None else self._graph.by_no.get(found)

    def _open(self, node: Node) -> Inside:
        if node.no not in self._inside:
            self._inside[node.no] = Inside()
            heappush(self._ends, (self._graph.ends.get(node.no, node.no), -node.no))
        return self._inside[node.no]
