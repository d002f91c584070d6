"""The execution graph of a run from the fork on: steps, and who consumed what from whom. Pure data."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property

from traces.core.step_header import StoredHeader, step_view
from traces.core.vocabulary import EdgeKind, StepType
from traces.payloads.lost_payloads import LostPayloads
from traces.provenance.input_origins import UnexplainedContent

# Type and name of a step, digest of an unexplained content of its input
Content = tuple[str, str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Witness:
    """Another run: the references of its outputs, by the number of the same step here, and its contents."""

    outputs: Mapping[int, str]
    contents: frozenset[Content]


@dataclass(frozen=True, kw_only=True, slots=True)
class CopiedValue:
    """A value at `start` to `end` of a text; `other` is what the other recording has in its place.

    `rivals` are all steps of whose outputs the value may be a copy.
    """

    start: int
    end: int
    own: str
    other: str
    rivals: frozenset[int]


CONTAINERS = frozenset({StepType.AGENT, StepType.TURN})
# What they say of another input only they can tell
CHECKS = frozenset({StepType.VALIDATOR, StepType.SAFETY})


@step_view
class Node(StoredHeader):
    """One source step without its payloads."""

    no: int
    parent: int | None = None
    started_at: datetime | None = None
    # Input of unknown origin
    unexplained: tuple[UnexplainedContent, ...] = ()
    # What of its recording cannot be read
    losses: LostPayloads = ()

    def lacks(self, field: str) -> bool:
        """Whether a payload of its recording cannot be read."""
        return any(payload.field == field for payload in self.losses)

    def named_for(self, model: str) -> str:
        """What the step is called when it asks `model`: many steps are named after the model that they ask."""
        return model if self.is_named_by_model else self.name


@dataclass(frozen=True, kw_only=True, slots=True)
class Link:
    """`producer`'s output went into the consumer under which this link is filed.

    The value at `consumer_path` of the consumer's input came from `producer_path` of the producer's output. Where
    several producers said the same and the value repeats it, this is the `nth` of them, counted from 0.
    """

    producer: int
    kind: EdgeKind
    consumer_path: str = ""
    producer_path: str = ""
    nth: int | None = None
    # What a link of kind value has found
    value: str = ""
    # Values that two recordings show to be copies
    copies: tuple[CopiedValue, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Graph:
    """Steps from the fork on, in order. What lies before is unchanged by definition and is not loaded.

    `open` are the steps before the fork that hold some after it, in order; `earlier_calls` are the tool calls
    that were made before it under these, and `earlier` the model steps whose conversations go on after it, with
    the closed containers around both. `witnesses` are other runs of the app.
    """

    fork: int
    nodes: tuple[Node, ...]
    links: Mapping[int, tuple[Link, ...]] = field(default_factory=dict)
    open: tuple[Node, ...] = ()
    earlier_calls: tuple[Node, ...] = ()
    earlier: tuple[Node, ...] = ()
    witnesses: tuple[Witness, ...] = ()

    @cached_property
    def by_no(self) -> dict[int, Node]:
        return {node.no: node for node in (*self.earlier, *self.open, *self.earlier_calls, *self.nodes)}

    @cached_property
    def by_kind(self) -> dict[tuple[StepType, str, str], list[Node]]:
        """The steps from the fork on by type, the name that they are called by, and model."""
        found: dict[tuple[StepType, str, str], list[Node]] = {}
        for node in self.nodes:
            found.setdefault((node.type, node.callee, node.model), []).append(node)
        return found

    @cached_property
    def is_flat(self) -> bool:
        """Whether there are models and tools only, and none of them holds another step."""
        plain = {StepType.MODEL, StepType.TOOL}
        return all(node.parent is None and node.type in plain for node in self.nodes)

    @cached_property
    def repeats_requests(self) -> bool:
        """Whether a model step goes on from the request of another one without its answer."""
        every = (link for links in self.links.values() for link in links)
        return any(link.kind is EdgeKind.HISTORY and not link.producer_path for link in every)

    @cached_property
    def children(self) -> dict[int | None, list[Node]]:
        found: dict[int | None, list[Node]] = {}
        for node in self.nodes:
            found.setdefault(node.parent, []).append(node)
        return found

    @cached_property
    def consumers(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for consumer, links in self.links.items():
            for link in links:
                found.setdefault(link.producer, []).append(consumer)
        return found

    @cached_property
    def ends(self) -> dict[int, int]:
        """The last step inside of each step that holds others."""
        found: dict[int, int] = {}
        for node in reversed(self.nodes):
            end = max(found.get(node.no, 0), node.no)
            if node.parent is not None:
                found[node.parent] = max(found.get(node.parent, 0), end)
        for node in reversed(self.open):
            if node.parent is not None:
                found[node.parent] = max(found.get(node.parent, 0), found.get(node.no, 0))
        return found

    @cached_property
    def continuations(self) -> dict[int, Link]:
        """By model step: the link to the one whose messages it continues."""
        found: dict[int, Link] = {}
        for node in self.nodes:
            if node.type is StepType.MODEL:
                links = (link for link in self.links.get(node.no, ()) if link.kind is EdgeKind.HISTORY)
                if (link := next(links, None)) is not None:
                    found[node.no] = link
        return found

    @cached_property
    def threads(self) -> dict[int, int]:
        """By model step: the first one of the conversation that it belongs to."""
        found: dict[int, int] = {}
        for node in self.nodes:
            if node.type is StepType.MODEL:
                link = self.continuations.get(node.no)
                found[node.no] = node.no if link is None else found.setdefault(link.producer, link.producer)
        return found

    @cached_property
    def conversations(self) -> dict[int, list[Node]]:
        """The model steps of each conversation from the fork on, by its first one."""
        found: dict[int, list[Node]] = {}
        for no, first in self.threads.items():
            if no >= self.fork:
                found.setdefault(first, []).append(self.by_no[no])
        return {first: sorted(models, key=lambda model: model.no) for first, models in found.items()}

    def descendants(self, no: int) -> list[Node]:
        """Every step within a step, in order."""
        found: list[Node] = []
        waiting = list(self.children.get(no, ()))
        while waiting:
            node = waiting.pop()
            found.append(node)
            waiting += self.children.get(node.no, ())
        return sorted(found, key=lambda node: node.no)

    def last_model(self, no: int) -> Node | None:
        """The model step that speaks last inside of a step."""
        return next((step for step in reversed(self.descendants(no)) if step.type is StepType.MODEL), None)

    @property
    def last(self) -> int:
        return self.nodes[-1].no if self.nodes else self.fork - 1

    def ancestors(self, node: Node) -> Iterator[Node]:
        """The steps that enclose `node`, innermost first."""
        parent = node.parent
        while parent is not None and parent in self.by_no:
            node = self.by_no[parent]
            yield node
            parent = node.parent

    def reach(self, starts: Iterable[int]) -> set[int]:
        """Every step that a change of `starts` could reach: the outermost bound, found without any payload."""
        reached = set(starts)
        waiting = list(reached)
        while waiting:
            for consumer in self.consumers.get(waiting.pop(), ()):
                if consumer not in reached:
                    reached.add(consumer)
                    waiting.append(consumer)
        return reached


def with_ordinals(graph: Graph, links: Sequence[Link]) -> Sequence[Link]:
    """The links, those of producers that said the same into one place numbered in their order."""
    alike: dict[tuple[str, str], list[int]] = {}
    for link in links:
        producer = graph.by_no.get(link.producer)
        if producer is not None and producer.output_ref:
            alike.setdefault((link.consumer_path, producer.output_ref), []).append(link.producer)
    several = {
        (path, no): nth
        for (path, _), producers in alike.items()
        for nth, no in enumerate(sorted(set(producers)))
        if len(set(producers)) > 1
    }
    if not several:
        return links
    return [replace(link, nth=several.get((link.consumer_path, link.producer))) for link in links]
