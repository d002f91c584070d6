"""Execution graph of a run from the fork on: its steps and the links between them. Pure data."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property

from replay.core.values.tool_servers import Server
from traces.core.step_header import StoredHeader, step_view
from traces.core.vocabulary import EdgeKind, Label, Reason, StepType
from traces.payloads.lost_payloads import LostPayloads
from traces.provenance.input_origins import UnexplainedContent

# Type and name of a step, and the digest of unexplained content in its input.
Content = tuple[str, str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Witness:
    """Another run of the app, with its own step numbers.

    `outputs` are its output references by the number of the same step here, `contents` has the step in which each
    content appears first, and `outputs_by_kind` numbers and output references of its steps by type and name, in order.
    """

    outputs: Mapping[int, str]
    contents: Mapping[Content, int]
    outputs_by_kind: Mapping[tuple[str, str], Sequence[tuple[int, str]]]


@dataclass(frozen=True, kw_only=True, slots=True)
class CopiedValue:
    """A value at `start` to `end` of a text; `other` is the other recording's value in its place.

    `rivals` are all steps whose outputs may be the source of the copy.
    """

    start: int
    end: int
    own: str
    other: str
    rivals: frozenset[int]


CONTAINERS = frozenset({StepType.AGENT, StepType.TURN})
# Steps whose verdict on a changed input cannot be derived.
CHECKS = frozenset({StepType.VALIDATOR, StepType.SAFETY})


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayOutput:
    """Label and reason of an output that no agent produced: the source is itself a replay, in which it came about."""

    label: Label
    reason: Reason


@step_view
class Node(StoredHeader):
    """A source step without its payloads."""

    no: int
    parent: int | None = None
    started_at: datetime | None = None
    # Input content of unknown origin.
    unexplained: tuple[UnexplainedContent, ...] = ()
    # Unreadable payloads of its recording.
    losses: LostPayloads = ()
    # How the source obtained the output; None for a recording of an agent.
    replay_output: ReplayOutput | None = None

    @property
    def reuse_label(self) -> Label:
        """Label of the step if its output is reused."""
        if self.losses:
            return Label.SIMULATED
        return Label.EXACT if self.replay_output is None else self.replay_output.label

    def lacks(self, field: str) -> bool:
        """True if a payload of the step is unreadable."""
        return any(payload.is_of(field) for payload in self.losses)

    def named_for(self, model: str) -> str:
        """Name of the step if it calls `model`: many steps are named after their model."""
        return model if self.is_named_by_model else self.name


@step_view
class Link:
    """`producer`'s output went into the step under which this link is filed.

    The value at `consumer_path` of the consumer's input came from `producer_path` of the producer's output. If several
    producers have the same output and the value repeats it, this is the `nth` of them, counted from 0.
    """

    producer: int
    kind: EdgeKind
    consumer_path: str = ""
    producer_path: str = ""
    nth: int | None = None
    # The value that a link of kind `value` traces.
    value: str = ""
    # Values that are copies, as two recordings show.
    copies: tuple[CopiedValue, ...] = ()

    @property
    def repeats_request(self) -> bool:
        """True if the consumer repeats the producer's request, and not its answer."""
        return self.kind is EdgeKind.HISTORY and not self.producer_path


@dataclass(frozen=True, kw_only=True)
class Graph:
    """Steps from the fork on, in order. Earlier steps are unchanged by definition and mostly not loaded.

    `open` are the containers that are open at the fork, in order. `load_earlier_calls` loads the tool calls before the
    fork inside these containers, and `load_servers` the MCP servers of tool calls, by number: only a replay that leaves
    the recording needs them. `earlier` are the model steps whose conversations continue after the fork, with the closed
    containers around both. `witnesses` are other runs of the app.
    """

    fork: int
    nodes: tuple[Node, ...]
    links: Mapping[int, tuple[Link, ...]] = field(default_factory=dict)
    open: tuple[Node, ...] = ()
    load_earlier_calls: Callable[[], tuple[Node, ...]] = tuple
    load_servers: Callable[[], Mapping[int, Server]] = dict
    earlier: tuple[Node, ...] = ()
    witnesses: tuple[Witness, ...] = ()

    @cached_property
    def by_no(self) -> dict[int, Node]:
        """Loaded steps; `find` finds the earlier calls, too."""
        return {node.no: node for node in (*self.earlier, *self.open, *self.nodes)}

    @cached_property
    def earlier_calls(self) -> dict[int, Node]:
        """Tool calls before the fork inside the containers that are open at it, in order."""
        return {node.no: node for node in self.load_earlier_calls()}

    @cached_property
    def servers(self) -> Mapping[int, Server]:
        """MCP servers of tool calls, by number."""
        return self.load_servers()

    def find(self, no: int) -> Node | None:
        node = self.by_no.get(no)
        return self.earlier_calls.get(no) if node is None and no < self.fork else node

    @cached_property
    def by_kind(self) -> dict[tuple[StepType, str, str], list[Node]]:
        """Steps from the fork on by type, callee and model."""
        steps: dict[tuple[StepType, str, str], list[Node]] = {}
        for node in self.nodes:
            steps.setdefault((node.type, node.callee, node.model), []).append(node)
        return steps

    @cached_property
    def has_replay_outputs(self) -> bool:
        """True if the source is a replay that did not take all of its outputs from an agent."""
        return any(node.replay_output is not None for node in self.nodes)

    @cached_property
    def is_flat(self) -> bool:
        """True if all steps are model or tool steps without a parent."""
        plain = {StepType.MODEL, StepType.TOOL}
        return all(node.parent is None and node.type in plain for node in self.nodes)

    @cached_property
    def repeats_requests(self) -> bool:
        """True if a model step continues the request of another one without its answer."""
        all_links = (link for links in self.links.values() for link in links)
        return any(link.repeats_request for link in all_links)

    @cached_property
    def children(self) -> dict[int | None, list[Node]]:
        children: dict[int | None, list[Node]] = {}
        for node in self.nodes:
            children.setdefault(node.parent, []).append(node)
        return children

    @cached_property
    def consumers(self) -> dict[int, list[int]]:
        consumers: dict[int, list[int]] = {}
        for consumer, links in self.links.items():
            for link in links:
                consumers.setdefault(link.producer, []).append(consumer)
        return consumers

    @cached_property
    def ends(self) -> dict[int, int]:
        """Number of the last step inside each container."""
        ends: dict[int, int] = {}
        for node in reversed(self.nodes):
            end = max(ends.get(node.no, 0), node.no)
            if node.parent is not None:
                ends[node.parent] = max(ends.get(node.parent, 0), end)
        for node in reversed(self.open):
            if node.parent is not None:
                ends[node.parent] = max(ends.get(node.parent, 0), ends.get(node.no, 0))
        return ends

    @cached_property
    def continuations(self) -> dict[int, Link]:
        """By model step: the link to the model step whose messages it continues."""
        continuations: dict[int, Link] = {}
        for node in self.nodes:
            if node.type is StepType.MODEL:
                links = (link for link in self.links.get(node.no, ()) if link.kind is EdgeKind.HISTORY)
                if (link := next(links, None)) is not None:
                    continuations[node.no] = link
        return continuations

    @cached_property
    def threads(self) -> dict[int, int]:
        """By model step: the first model step of its conversation."""
        threads: dict[int, int] = {}
        for node in self.nodes:
            if node.type is StepType.MODEL:
                link = self.continuations.get(node.no)
                threads[node.no] = node.no if link is None else threads.setdefault(link.producer, link.producer)
        return threads

    @cached_property
    def conversations(self) -> dict[int, list[Node]]:
        """Model steps of each conversation from the fork on, by its first one."""
        conversations: dict[int, list[Node]] = {}
        for no, first in self.threads.items():
            if no >= self.fork:
                conversations.setdefault(first, []).append(self.by_no[no])
        return {first: sorted(models, key=lambda model: model.no) for first, models in conversations.items()}

    def descendants(self, no: int) -> list[Node]:
        """All steps inside a container, in order."""
        descendants: list[Node] = []
        pending = list(self.children.get(no, ()))
        while pending:
            node = pending.pop()
            descendants.append(node)
            pending += self.children.get(node.no, ())
        return sorted(descendants, key=lambda node: node.no)

    def last_model(self, no: int) -> Node | None:
        """Last model step inside a container."""
        return next((step for step in reversed(self.descendants(no)) if step.type is StepType.MODEL), None)

    @property
    def last(self) -> int:
        return self.nodes[-1].no if self.nodes else self.fork - 1

    def ancestors(self, node: Node) -> Iterator[Node]:
        """Containers around `node`, innermost first."""
        parent = node.parent
        while parent is not None and parent in self.by_no:
            node = self.by_no[parent]
            yield node
            parent = node.parent

    def reachable(self, starts: Iterable[int]) -> set[int]:
        """All steps that a change of `starts` could reach: an upper bound that reads no payloads."""
        reachable = set(starts)
        pending = list(reachable)
        while pending:
            for consumer in self.consumers.get(pending.pop(), ()):
                if consumer not in reachable:
                    reachable.add(consumer)
                    pending.append(consumer)
        return reachable


def with_ordinals(graph: Graph, links: Sequence[Link]) -> Sequence[Link]:
    """Links with their `nth` set where several producers put the same output into one place."""
    groups: dict[tuple[str, str], list[int]] = {}
    counts = Counter(link.consumer_path for link in links)
    for link in links:
        producer = graph.find(link.producer) if counts[link.consumer_path] > 1 else None
        if producer is not None and producer.output_ref:
            groups.setdefault((link.consumer_path, producer.output_ref), []).append(link.producer)
    ordinals = {
        (path, no): nth
        for (path, _), producers in groups.items()
        for nth, no in enumerate(sorted(set(producers)))
        if len(set(producers)) > 1
    }
    if not ordinals:
        return links
    return [replace(link, nth=ordinals.get((link.consumer_path, link.producer))) for link in links]
