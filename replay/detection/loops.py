"""Recognising an agent loop from its recording: model steps that continue one another, and what lies between them.

The model steps and the tool steps need not be siblings: recorders put each of them, or all tool calls of a turn, into
containers of their own. A tool step may hold a whole agent, whose steps are no part of the loop that called it.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from replay.core.graph import Graph, Node
from traces.core.vocabulary import EdgeKind, StepType

# What only the consumer of a whole message has
_SAID: Final = frozenset({EdgeKind.TOOL_CALL_ID, EdgeKind.DIGEST})
# Of a history that holds the earlier call's answer too
_ANSWERED: Final = "/message"


@dataclass(frozen=True, kw_only=True)
class Loop:
    """One loop from the fork on: its model steps, what answers their calls, and all steps that belong to it, in order.

    `parent` holds them all; `around` names, by step, the containers between `parent` and a step, outermost first;
    `others` stand beside models and calls, like a prompt before each model step.
    """

    parent: int | None
    models: tuple[Node, ...]
    calls: tuple[Node, ...]
    steps: tuple[Node, ...]
    other_steps: tuple[Node, ...] = ()
    containers: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    @property
    def first(self) -> int:
        return self.models[0].no

    @property
    def last(self) -> int:
        return self.steps[-1].no


@dataclass(frozen=True, kw_only=True)
class Recognition:
    """The loop, or why there is none, in words."""

    loop: Loop | None
    summary: str


def recognise(graph: Graph, node: Node, answering: Collection[int] = ()) -> Recognition:
    """The loop that the model step `node` belongs to; steps in `answering` answer its calls without a tool step."""
    parts = _Parts(graph=graph, thread=graph.threads[node.no], scope=_scope(graph, node), answering=answering)
    parts.collect()
    if problem := parts.problem():
        return Recognition(loop=None, summary=f"No agent loop recognised: {problem}; the recorded structure is kept")
    loop = parts.loop()
    return Recognition(loop=loop, summary=_said(loop))


def continues(graph: Graph, earlier: Node, later: Node) -> bool:
    """Whether the recording shows that `later` continues the messages of `earlier`."""
    link = graph.continuations.get(later.no)
    return link is not None and link.producer == earlier.no


@dataclass(kw_only=True)
class _Parts:
    """The steps under one container, sorted into what they are for the loop of one conversation."""

    graph: Graph
    thread: int
    scope: int | None
    answering: Collection[int] = ()
    models: list[Node] = field(default_factory=list)
    calls: list[Node] = field(default_factory=list)
    others: list[Node] = field(default_factory=list)
    # The model step of another conversation at which the loop ends
    beyond: Node | None = None
    around: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def collect(self) -> None:
        conversation = self.graph.conversations[self.thread]
        inside = [model for model in conversation if self._holds(model)]
        self._collect(self.scope, (), inside[0].no, inside[-1].no)

    def problem(self) -> str:
        """Why these steps are no loop that can be followed."""
        for earlier, later in pairwise(self.models):
            if not continues(self.graph, earlier, later):
                return f"the messages of step {later.no} do not extend those of step {earlier.no}"
        if self.beyond is not None and self._is_fed(self.beyond, {EdgeKind.TOOL_CALL_ID}):
            return f"the messages of step {self.beyond.no} do not extend those of step {self.models[-1].no}"
        return ""

    def loop(self) -> Loop:
        tops = [*self.models, *self.calls, *self.others]
        last = max(node.no for node in (*self.models, *self.calls))
        steps = {node.no: node for node in tops if self.models[0].no <= node.no <= last}
        containers = {no for path in self.around.values() for no in path}
        others = tuple(node for node in self.others if node.no in steps and node.no not in containers)
        for node in [node for node in steps.values() if node.no not in containers]:
            steps |= {within.no: within for within in self.graph.descendants(node.no)}
        return Loop(
            parent=self.scope,
            models=tuple(self.models),
            calls=tuple(self.calls),
            steps=tuple(steps[no] for no in sorted(steps)),
            other_steps=others,
            containers=self.around,
        )

    def _holds(self, model: Node) -> bool:
        parents = (above.no for above in self.graph.ancestors(model))
        return self.scope is None or self.scope in parents

    def _collect(self, parent: int | None, path: tuple[int, ...], first: int, last: int) -> None:
        """Sort the steps under `parent` in, from the loop's first model step to the end of its last turn."""
        for node in self._children(parent, first):
            if self.beyond is not None:
                return
            self._sort(node, path, first, last)

    def _children(self, parent: int | None, first: int) -> Iterator[Node]:
        """The steps under `parent` that do not end before the first model step."""
        for node in self.graph.open:
            if node.parent == parent and node.no != parent:
                yield node
        children = self.graph.children.get(parent, [])
        at = bisect_left(children, first, key=lambda node: node.no)
        while at > 0 and self.graph.ends.get(children[at - 1].no, 0) >= first:
            at -= 1
        yield from children[at:]

    def _sort(self, node: Node, path: tuple[int, ...], first: int, last: int) -> None:
        if self.graph.threads.get(node.no) == self.thread and node.type is StepType.MODEL:
            self._take(self.models, node, path)
        elif node.no in self.answering:
            self._take(self.calls, node, path)
        elif node.type is StepType.MODEL or self._is_agent(node):
            if node.no > last:
                self.beyond = node
            elif self._is_fed(node, _SAID):
                self._take(self.others, node, path)
        elif node.type is StepType.TOOL:
            self._take(self.calls if self._is_called(node) else self.others, node, path)
        elif self.graph.children.get(node.no) and self._has_parts(node):
            self._take(self.others, node, path)
            self._collect(node.no, (*path, node.no), first, last)
        else:
            self._take(self.others, node, path)

    def _take(self, parts: list[Node], node: Node, path: tuple[int, ...]) -> None:
        parts.append(node)
        if path:
            self.around[node.no] = path

    def _is_agent(self, node: Node) -> bool:
        """Whether a step holds model steps of other conversations alone: another agent's work, or another turn's."""
        if node.type is StepType.TOOL:
            return False
        models = self._models_in(node)
        own = any(self.graph.threads.get(model.no) == self.thread for model in models)
        return bool(models) and not own and not self._holds_calls(node)

    def _holds_calls(self, node: Node) -> bool:
        """Whether something in a container answers this loop's calls, beside the agents that it holds."""
        return any(
            child.no in self.answering
            or (self._is_asked_for(child) if child.type is StepType.TOOL else self._holds_calls(child))
            for child in self.graph.children.get(node.no, ())
        )

    def _has_parts(self, node: Node) -> bool:
        return any(
            child.type in {StepType.MODEL, StepType.TOOL} or self._has_parts(child)
            for child in self.graph.children.get(node.no, ())
        )

    def _models_in(self, node: Node) -> list[Node]:
        """The model steps in a container, those of agents that tools hold aside."""
        found: list[Node] = []
        for child in self.graph.children.get(node.no, ()):
            if child.type is StepType.MODEL:
                found.append(child)
            elif child.type is not StepType.TOOL:
                found += self._models_in(child)
        return found

    def _is_called(self, tool: Node) -> bool:
        """Whether this loop's models asked for a tool; one that names no caller is taken to be theirs."""
        links = self.graph.links.get(tool.no, ())
        return not any(link.kind is EdgeKind.TOOL_CALL_ID for link in links) or self._is_asked_for(tool)

    def _is_asked_for(self, tool: Node) -> bool:
        callers = (link.producer for link in self.graph.links.get(tool.no, ()) if link.kind is EdgeKind.TOOL_CALL_ID)
        return any(self.graph.threads.get(caller) == self.thread for caller in callers)

    def _is_fed(self, node: Node, kinds: Collection[EdgeKind]) -> bool:
        """Whether another conversation's step, or one in it, was told what this loop said or found."""
        own = {part.no for part in (*self.models, *self.calls)}
        inside = [node, *self._models_in(node)]
        links = (link for step in inside for link in self.graph.links.get(step.no, ()))
        return any(link.producer in own and link.kind in kinds for link in links)


def _scope(graph: Graph, node: Node) -> int | None:
    """The step under which the loop lies: its model's parent, or what holds the containers that each model has."""
    scope = node.parent
    while scope is not None and (other := _elsewhere(graph, node, scope)) is not None:
        above = _path(graph, other)
        mine = _path(graph, node)
        common = next((step for step in mine if step in above), None)
        crossed = [*mine[: mine.index(common)], *above[: above.index(common)]]
        if any(graph.by_no[no].type in {StepType.TURN, StepType.TOOL} for no in crossed if no is not None):
            return scope
        scope = common
    return scope


def _elsewhere(graph: Graph, node: Node, scope: int) -> Node | None:
    """The next or last model step of the conversation outside of `scope`, where there is no other one in it."""
    models = graph.conversations[graph.threads[node.no]]
    at = models.index(node)
    inside = [model for model in models if scope in _path(graph, model)]
    if len(inside) > 1:
        return None
    after = models[at + 1] if at + 1 < len(models) else None
    if after is not None and _answered(graph, after):
        return after
    link = graph.continuations.get(node.no)
    before = graph.by_no.get(link.producer) if link is not None and _answered(graph, node) else None
    return None if before is None or scope in _path(graph, before) else before


def _answered(graph: Graph, later: Node) -> bool:
    """Whether a model step continues what another one said, not only what that was asked."""
    return graph.continuations[later.no].producer_path == _ANSWERED


def _path(graph: Graph, node: Node) -> list[int | None]:
    """What encloses a step, innermost first, the run itself last."""
    return [*(above.no for above in graph.ancestors(node)), None]


def _said(loop: Loop) -> str:
    count = len(loop.models)
    under = f"step {loop.parent}" if loop.parent is not None else "the run"
    models = "one model step" if count == 1 else f"{count} model steps whose messages extend each other"
    return f"Agent loop of {models} under {under}, steps {loop.first} to {loop.last}"
