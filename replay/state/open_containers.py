"""Containers with children that differ from the recording, until they close. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush

from replay.core.calls import SEVERITY, Answer, Call
from replay.core.events import Event, StepResolved, StepSkipped, StepsReused
from replay.core.graph import Graph, Node
from traces.core.json_types import JSONValue
from traces.core.vocabulary import Label


@dataclass
class ChangedChildren:
    """Children of a container that differ from the recording: source `steps`, and the weakest label of all children."""

    steps: set[int] = field(default_factory=set)
    weakest: Label = Label.EXACT

    def weaken(self, label: Label | None) -> None:
        """Account for the label of one more child."""
        if label is not None and SEVERITY[label] > SEVERITY[self.weakest]:
            self.weakest = label


class OpenContainers:
    """Bookkeeping of open containers; `engine/container_closing.py` closes them."""

    def __init__(self, graph: Graph, numbers: Mapping[int, int]) -> None:
        self._graph = graph
        self._is_flat = graph.is_flat
        # Numbers of source steps in the derived run.
        self._numbers = numbers
        # By container number.
        self._open_containers: dict[int, ChangedChildren] = {}
        self._ends: list[tuple[int, int]] = []
        self._closed: set[int] = set()
        # Provisional answers of containers whose input changed.
        self.reruns: dict[int, Answer] = {}
        # Changed outputs of closed containers.
        self.outputs: dict[int, JSONValue] = {}
        # Closed containers whose output contains live answers.
        self.live: set[int] = set()

    def observe(self, event: Event) -> None:
        """Mark the containers around an event that differs from the recording."""
        if self._is_flat:
            return
        match event:
            case StepsReused():
                for no in event.assumptions:
                    self._mark_not_exact(self._graph.by_no[no], Label.SIMULATED)
            case StepResolved(call=Call(node=None)):
                self._mark_unrecorded(event.call.parent, event.answer.label)
            case StepResolved(call=Call(node=Node() as node), answer=answer) if not answer.is_reused:
                if answer.label is not Label.EXACT:
                    self._mark_not_exact(node, answer.label)
            case StepSkipped():
                self._open_ancestors(event.node)

    def mark_changed(self, node: Node) -> None:
        """Mark the containers around a step whose output changed."""
        for children in self._open_ancestors(node):
            children.steps.add(node.no)

    def open_rerun(self, node: Node, answer: Answer) -> None:
        """Open a container whose input changed; `answer` is provisional until its children have resolved."""
        self.reruns[node.no] = answer
        self._open(node)

    def are_due(self, no: int) -> bool:
        """True if a container ends before step `no`."""
        return bool(self._ends) and self._ends[0][0] < no

    def next_due(self) -> Node:
        """Pop the container that ends first, inner containers before outer ones."""
        return self._graph.by_no[-heappop(self._ends)[1]]

    def close(self, node: Node) -> ChangedChildren | None:
        """Close a container: its changed children, or None if there are none or it is already closed."""
        if node.no in self._closed or node.no not in self._open_containers:
            return None
        self._closed.add(node.no)
        return self._open_containers[node.no]

    def _open_ancestors(self, node: Node) -> list[ChangedChildren]:
        return [self._open(ancestor) for ancestor in self._graph.ancestors(node)]

    def _mark_not_exact(self, node: Node, label: Label | None) -> None:
        for children in self._open_ancestors(node):
            children.steps.add(node.no)
            children.weaken(label)

    def _mark_unrecorded(self, parent: int | None, label: Label | None) -> None:
        """A step without a recording ran inside a container, which itself may have no recording."""
        if (container := self._container(parent)) is None:
            return
        for children in (self._open(container), *self._open_ancestors(container)):
            children.weaken(label)

    def _container(self, number: int | None) -> Node | None:
        """The source container that has this number in the derived run."""
        containers: Iterable[int] = (no for no in self._graph.children if no is not None)
        source_no = next((no for no in containers if self._numbers.get(no, no) == number), None)
        return None if source_no is None else self._graph.by_no.get(source_no)

    def _open(self, node: Node) -> ChangedChildren:
        if node.no not in self._open_containers:
            self._open_containers[node.no] = ChangedChildren()
            heappush(self._ends, (self._graph.ends.get(node.no, node.no), -node.no))
        return self._open_containers[node.no]
