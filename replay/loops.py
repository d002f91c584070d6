"""Recognising an agent loop from its recording: model steps under one parent whose messages extend each other."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from replay.graph import Graph, Node
from traces.json_types import JSONObject
from traces.vocabulary import EdgeKind, StepType

_BETWEEN: Final = frozenset({StepType.MODEL, StepType.TOOL})


@dataclass(frozen=True, kw_only=True)
class Loop:
    """The steps of one loop from the fork on, in order: model steps and the tool steps they asked for."""

    parent: int | None
    steps: tuple[Node, ...]

    @property
    def models(self) -> tuple[Node, ...]:
        return tuple(node for node in self.steps if node.type is StepType.MODEL)

    @property
    def first(self) -> int:
        return self.steps[0].no

    @property
    def last(self) -> int:
        return self.steps[-1].no


@dataclass(frozen=True, kw_only=True)
class Recognition:
    """The loop, or why there is none, in words."""

    loop: Loop | None
    said: str


def recognise(graph: Graph, node: Node) -> Recognition:
    """The loop that `node` belongs to."""
    siblings = [step for step in graph.children.get(node.parent, []) if step.type is not StepType.OUTPUT]
    models = [step for step in siblings if step.type is StepType.MODEL]
    if not models:
        return Recognition(loop=None, said="No loop: there is no model step from the fork on here")
    steps = [step for step in siblings if models[0].no <= step.no]
    steps = _without_tail(steps)
    if problem := _problem(graph, steps, models):
        return Recognition(loop=None, said=f"No agent loop recognised: {problem}; the recorded structure is kept")
    loop = Loop(parent=node.parent, steps=tuple(steps))
    return Recognition(loop=loop, said=_said(graph, loop))


def _without_tail(steps: list[Node]) -> list[Node]:
    """Without what follows the last model or tool step: that comes after the loop."""
    last = max(at for at, step in enumerate(steps) if step.type in _BETWEEN)
    return steps[: last + 1]


def _problem(graph: Graph, steps: list[Node], models: list[Node]) -> str:
    for step in steps:
        if step.type not in _BETWEEN:
            return f"step {step.no} ({step.type}) stands between the model steps"
        if graph.children.get(step.no):
            return f"step {step.no} ({step.type}) has steps of its own"
    if steps[-1].no - steps[0].no + 1 != len(steps):
        return "steps of other parents lie between its steps"
    for earlier, later in pairwise(models):
        if not extends(graph, earlier, later):
            return f"the messages of step {later.no} do not extend those of step {earlier.no}"
    return ""


def extends(graph: Graph, earlier: Node, later: Node) -> bool:
    """Whether the recording shows that `later` continues the messages of `earlier`."""
    links = graph.links.get(later.no, ())
    return any(link.producer == earlier.no and link.kind is EdgeKind.HISTORY for link in links)


def spoken_to(graph: Graph, model: Node, input: JSONObject) -> bool:
    """Whether a message that is neither an answer nor a tool's result came before this call."""
    given = input.get("messages")
    messages = given if isinstance(given, list) else []
    history = next((link for link in graph.links.get(model.no, ()) if link.kind is EdgeKind.HISTORY), None)
    place = history.consumer_path.removeprefix("/messages/") if history else ""
    said = messages[int(place) + 1 :] if place.isdecimal() else []
    return any(isinstance(message, dict) and message.get("role") != "tool" for message in said)


def _said(graph: Graph, loop: Loop) -> str:
    count = len(loop.models)
    under = f"step {loop.parent}" if loop.parent is not None else "the run"
    models = "one model step" if count == 1 else f"{count} model steps whose messages extend each other"
    return f"Agent loop of {models} under {under}, steps {loop.first} to {loop.last}"
