"""The execution graph of a run from the fork on: steps, and who consumed what from whom. Pure data."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from uuid import UUID

from traces.vocabulary import EdgeKind, StepStatus, StepType

CONTAINERS = frozenset({StepType.AGENT, StepType.TURN})


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """One source step without its payloads."""

    no: int
    id: UUID
    type: StepType
    name: str
    parent: int | None = None
    status: StepStatus = StepStatus.OK
    signature: str = ""
    input_ref: str = ""
    output_ref: str = ""
    provider: str = ""
    model: str = ""
    tool_name: str = ""
    call_id: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    duration_ms: float | None = None

    @property
    def called(self) -> str:
        """The tool's name, or the step's own."""
        return self.tool_name or self.name


@dataclass(frozen=True, kw_only=True, slots=True)
class Link:
    """`producer`'s output went into the consumer under which this link is filed.

    The value at `consumer_path` of the consumer's input came from `producer_path` of the producer's output.
    """

    producer: int
    kind: EdgeKind
    consumer_path: str = ""
    producer_path: str = ""


@dataclass(frozen=True, kw_only=True)
class Graph:
    """Steps from the fork on, in order. What lies before is unchanged by definition and is not loaded.

    `open` are the steps before the fork that enclose it, outermost first; `earlier_calls` are the tool calls
    that the fork's own turn had made before it.
    """

    fork: int
    nodes: tuple[Node, ...]
    links: Mapping[int, tuple[Link, ...]] = field(default_factory=dict)
    open: tuple[Node, ...] = ()
    earlier_calls: tuple[Node, ...] = ()

    @cached_property
    def by_no(self) -> dict[int, Node]:
        return {node.no: node for node in (*self.open, *self.earlier_calls, *self.nodes)}

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
