"""Recognise an agent loop in a recording: model steps that continue one another, and the steps between them. Pure.

Model and tool steps need not be siblings: recorders may put each of them, or all tool calls of a turn, into a
container. A tool step may contain a whole agent, whose steps are not part of the loop that calls it.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Final

from replay.core.graph import Graph, Node
from traces.core.json_types import JSONValue
from traces.core.vocabulary import EdgeKind, StepType
from traces.payloads.messages import ModelAnswer
from traces.payloads.parts import MissingPart

# Links that only the consumer of a whole message has.
_RESULT_KINDS: Final = frozenset({EdgeKind.TOOL_CALL_ID, EdgeKind.DIGEST})
# Producer path of a history link that includes the earlier call's answer.
_ANSWER_PATH: Final = "/message"


@dataclass(frozen=True, kw_only=True)
class Loop:
    """One loop from the fork on: its model steps, the steps that answer their calls, and all of its steps, in order.

    `parent` contains all of them. `containers` lists, by step, the containers between `parent` and the step, outermost
    first. `other_steps` are neither models nor calls, such as a prompt before each model step.
    """

    parent: int | None
    models: tuple[Node, ...]
    calls: tuple[Node, ...]
    steps: tuple[Node, ...]
    other_steps: tuple[Node, ...] = ()
    containers: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    @cached_property
    def parts(self) -> list[int]:
        """Numbers of its model steps and calls."""
        return sorted(node.no for node in (*self.models, *self.calls))

    def models_after(self, no: int) -> Iterator[Node]:
        """Model steps with higher numbers than `no`, in order."""
        start = bisect_right(self.models, no, key=_number)
        # Not a slice: a conversation may contain thousands, of which most callers need the first.
        return map(self.models.__getitem__, range(start, len(self.models)))

    def calls_after(self, no: int) -> Sequence[Node]:
        """Steps with higher numbers than `no` that answer calls, in order."""
        return self.calls[bisect_right(self.calls, no, key=_number) :]

    def steps_between(self, no: int, end: int) -> Sequence[Node]:
        """Steps with higher numbers than `no` and lower ones than `end`, in order."""
        start = bisect_right(self.steps, no, key=_number)
        return self.steps[start : bisect_left(self.steps, end, lo=start, key=_number)]

    @property
    def first(self) -> int:
        return self.models[0].no

    @property
    def last(self) -> int:
        return self.steps[-1].no


def _number(node: Node) -> int:
    return node.no


@dataclass(frozen=True, kw_only=True)
class Recognition:
    """The loop, or None; `summary` describes the loop or explains why there is none."""

    loop: Loop | None
    summary: str


def recognise(
    graph: Graph, node: Node, payload: Callable[[str], JSONValue], answering: Collection[int] = ()
) -> Recognition:
    """Recognise the loop of model step `node`; the steps in `answering` answer its calls without a tool step."""
    parts = _Parts(
        graph=graph, thread=graph.threads[node.no], scope=_scope(graph, node), payload=payload, answering=answering
    )
    parts.collect()
    if problem := parts.problem():
        return Recognition(loop=None, summary=f"No agent loop recognised: {problem}; the recorded structure is kept")
    loop = parts.loop()
    return Recognition(loop=loop, summary=_summary(loop))


def continues(graph: Graph, earlier: Node, later: Node) -> bool:
    """True if the recording shows that `later` continues the messages of `earlier`."""
    link = graph.continuations.get(later.no)
    return link is not None and link.producer == earlier.no


@dataclass(kw_only=True)
class _Parts:
    """Steps under one container, classified by their role in the loop of one conversation."""

    graph: Graph
    thread: int
    scope: int | None
    payload: Callable[[str], JSONValue]
    answering: Collection[int] = ()
    models: list[Node] = field(default_factory=list)
    calls: list[Node] = field(default_factory=list)
    other_steps: list[Node] = field(default_factory=list)
    # Model step of another conversation that ends the loop.
    next_conversation: Node | None = None
    containers: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def collect(self) -> None:
        conversation = self.graph.conversations[self.thread]
        models = [model for model in conversation if self._contains(model)]
        self._collect(self.scope, (), models[0].no, models[-1].no)

    def problem(self) -> str:
        """Why these steps form no loop that can be followed; empty if they do."""
        for earlier, later in pairwise(self.models):
            if not continues(self.graph, earlier, later):
                return f"the messages of step {later.no} do not extend those of step {earlier.no}"
        if self.next_conversation is not None and self._consumes_loop(self.next_conversation, {EdgeKind.TOOL_CALL_ID}):
            return f"the messages of step {self.next_conversation.no} do not extend those of step {self.models[-1].no}"
        return ""

    def loop(self) -> Loop:
        tops = [*self.models, *self.calls, *self.other_steps]
        last = max(node.no for node in (*self.models, *self.calls))
        steps = {node.no: node for node in tops if self.models[0].no <= node.no <= last}
        containers = {no for path in self.containers.values() for no in path}
        other_steps = tuple(node for node in self.other_steps if node.no in steps and node.no not in containers)
        for node in [node for node in steps.values() if node.no not in containers]:
            steps |= {descendant.no: descendant for descendant in self.graph.descendants(node.no)}
        return Loop(
            parent=self.scope,
            models=tuple(sorted(self.models, key=_number)),
            calls=tuple(self.calls),
            steps=tuple(steps[no] for no in sorted(steps)),
            other_steps=other_steps,
            containers=self.containers,
        )

    def _contains(self, model: Node) -> bool:
        parents = (ancestor.no for ancestor in self.graph.ancestors(model))
        return self.scope is None or self.scope in parents

    def _collect(self, parent: int | None, path: tuple[int, ...], first: int, last: int) -> None:
        """Classify the steps under `parent`, from the loop's first model step to the end of its last turn."""
        for node in self._children(parent, first):
            if self.next_conversation is not None:
                return
            self._classify(node, path, first, last)

    def _children(self, parent: int | None, first: int) -> Iterator[Node]:
        """Steps under `parent` that do not end before the first model step."""
        for node in self.graph.open:
            if node.parent == parent and node.no != parent:
                yield node
        children = self.graph.children.get(parent, [])
        at = bisect_left(children, first, key=lambda node: node.no)
        while at > 0 and self.graph.ends.get(children[at - 1].no, 0) >= first:
            at -= 1
        yield from children[at:]

    def _classify(self, node: Node, path: tuple[int, ...], first: int, last: int) -> None:
        if self.graph.threads.get(node.no) == self.thread and node.type is StepType.MODEL:
            self._add(self.models, node, path)
        elif node.no in self.answering:
            self._add(self.calls, node, path)
        elif node.type is StepType.MODEL or self._is_agent(node):
            if node.no > last:
                self.next_conversation = node
            elif self._consumes_loop(node, _RESULT_KINDS):
                self._add(self.other_steps, node, path)
        elif node.type is StepType.TOOL:
            self._add(self.calls if self._is_called(node, last) else self.other_steps, node, path)
        elif self.graph.children.get(node.no) and self._contains_parts(node):
            self._add(self.other_steps, node, path)
            self._collect(node.no, (*path, node.no), first, last)
        else:
            self._add(self.other_steps, node, path)

    def _add(self, parts: list[Node], node: Node, path: tuple[int, ...]) -> None:
        parts.append(node)
        if path:
            self.containers[node.no] = path

    def _is_agent(self, node: Node) -> bool:
        """True if a step contains only model steps of other conversations: another agent's work, or another turn."""
        if node.type is StepType.TOOL:
            return False
        models = self._models_in(node)
        own = any(self.graph.threads.get(model.no) == self.thread for model in models)
        return bool(models) and not own and not self._contains_calls(node)

    def _contains_calls(self, node: Node) -> bool:
        """True if a step inside a container, other than those of agents in it, answers this loop's calls."""
        return any(
            child.no in self.answering
            or (self._is_requested(child) if child.type is StepType.TOOL else self._contains_calls(child))
            for child in self.graph.children.get(node.no, ())
        )

    def _contains_parts(self, node: Node) -> bool:
        return any(
            child.type in {StepType.MODEL, StepType.TOOL} or self._contains_parts(child)
            for child in self.graph.children.get(node.no, ())
        )

    def _models_in(self, node: Node) -> list[Node]:
        """Model steps in a container, except those inside tool steps."""
        models: list[Node] = []
        for child in self.graph.children.get(node.no, ()):
            if child.type is StepType.MODEL:
                models.append(child)
            elif child.type is not StepType.TOOL:
                models += self._models_in(child)
        return models

    def _is_called(self, tool: Node, last: int) -> bool:
        """True if this loop's models requested a tool; one without a caller counts as theirs until the loop ends."""
        if any(link.kind is EdgeKind.TOOL_CALL_ID for link in self.graph.links.get(tool.no, ())):
            return self._is_requested(tool)
        return tool.no < last or not self._is_last_answer(self.graph.by_no[last])

    def _is_last_answer(self, model: Node) -> bool:
        """True if a recorded answer requests no calls: only code calls a tool after it."""
        try:
            return bool(model.output_ref) and not ModelAnswer(self.payload(model.output_ref)).calls
        except MissingPart:
            return False

    def _is_requested(self, tool: Node) -> bool:
        callers = (link.producer for link in self.graph.links.get(tool.no, ()) if link.kind is EdgeKind.TOOL_CALL_ID)
        return any(self.graph.threads.get(caller) == self.thread for caller in callers)

    def _consumes_loop(self, node: Node, kinds: Collection[EdgeKind]) -> bool:
        """True if a step of another conversation, or a step in it, consumes this loop's answers or results."""
        own = {part.no for part in (*self.models, *self.calls)}
        steps = [node, *self._models_in(node)]
        links = (link for step in steps for link in self.graph.links.get(step.no, ()))
        return any(link.producer in own and link.kind in kinds for link in links)


def _scope(graph: Graph, node: Node) -> int | None:
    """Container of the whole loop: its model's parent, or the parent of the containers around each model step."""
    scope = node.parent
    while scope is not None and (outside_model := _neighbour_outside(graph, node, scope)) is not None:
        outside_path = _path(graph, outside_model)
        path = _path(graph, node)
        common = next((step for step in path if step in outside_path), None)
        crossed_containers = [*path[: path.index(common)], *outside_path[: outside_path.index(common)]]
        if any(graph.by_no[no].type in {StepType.TURN, StepType.TOOL} for no in crossed_containers if no is not None):
            return scope
        scope = common
    return scope


def _neighbour_outside(graph: Graph, node: Node, scope: int) -> Node | None:
    """Next or previous model step of the conversation, if it lies outside of `scope` and no other one lies inside."""
    models = graph.conversations[graph.threads[node.no]]
    at = models.index(node)
    models_inside = [model for model in models if scope in _path(graph, model)]
    if len(models_inside) > 1:
        return None
    next_model = models[at + 1] if at + 1 < len(models) else None
    if next_model is not None and _continues_answer(graph, next_model):
        return next_model
    link = graph.continuations.get(node.no)
    previous_model = graph.by_no.get(link.producer) if link is not None and _continues_answer(graph, node) else None
    return None if previous_model is None or scope in _path(graph, previous_model) else previous_model


def _continues_answer(graph: Graph, later: Node) -> bool:
    """True if a model step continues another one's answer, not just its request."""
    return graph.continuations[later.no].producer_path == _ANSWER_PATH


def _path(graph: Graph, node: Node) -> list[int | None]:
    """Containers of a step, innermost first; None, for the run itself, comes last."""
    return [*(ancestor.no for ancestor in graph.ancestors(node)), None]


def _summary(loop: Loop) -> str:
    count = len(loop.models)
    location = f"step {loop.parent}" if loop.parent is not None else "the run"
    models = "one model step" if count == 1 else f"{count} model steps whose messages extend each other"
    return f"Agent loop of {models} under {location}, steps {loop.first} to {loop.last}"
