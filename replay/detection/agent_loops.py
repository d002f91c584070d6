"""Agent loops of a recording: which steps belong to which loop. Pure."""

from functools import cached_property
from typing import Final

from replay.core.context import ReplayContext
from replay.core.graph import Node
from replay.detection.implicit_calls import ImplicitCalls
from replay.detection.intermediate_messages import follows_user_message
from replay.detection.loops import Loop, Recognition, recognise
from traces.core.vocabulary import StepType

# Container of the loop in the source, and first model step of its conversation.
LoopKey = tuple[int | None, int | None]
NOWHERE: Final[LoopKey] = (None, None)
LOOP_TYPES: Final = frozenset({StepType.MODEL, StepType.TOOL})


class AgentLoops:
    """Agent loops of one recording. Steps are assigned to loops only if hooks listen."""

    def __init__(self, context: ReplayContext, implicit: ImplicitCalls, *, listening: bool) -> None:
        self._context = context
        self._graph = context.graph
        self._implicit = implicit
        self._listening = listening
        self._recognitions: dict[LoopKey, Recognition] = {}

    def recognition(self, node: Node) -> Recognition:
        """Loop of a model step, or why there is none."""
        key = (node.parent, self._graph.threads[node.no])
        if key not in self._recognitions:
            conversation = self._graph.conversations[self._graph.threads[node.no]]
            answering = self._implicit.calls_of(conversation)
            self._recognitions[key] = recognise(self._graph, node, self._context.payload, answering)
        return self._recognitions[key]

    def key_of(self, node: Node) -> LoopKey:
        if not self._listening:
            return NOWHERE
        return self._keys.get(node.no, (node.parent, None))

    def last(self, key: LoopKey) -> int:
        """Number of a loop's last step; outside of loops, the end of the container."""
        return self._last.get(key, self._graph.ends.get(key[0] or 0, self._graph.last))

    def before(self, node: Node) -> int:
        """Number of earlier model calls of the loop, from the fork on."""
        key = self.key_of(node)
        loop = self._loops.get(key) if key is not NOWHERE else None
        return 0 if loop is None else sum(model.no < node.no for model in loop.models)

    def rest(self, node: Node) -> list[Node]:
        """Steps of a loop from `node` to the next user message."""
        graph, loop = self._graph, self._loops.get(self.key_of(node))
        if loop is None:
            siblings = [step for step in graph.children[node.parent] if step.no >= node.no and step.type in LOOP_TYPES]
            return [step for top in siblings for step in (top, *graph.descendants(top.no))]
        models = [model for model in loop.models if model.no >= node.no]
        user_turns = (model.no for model in models[1:] if follows_user_message(self._context, model))
        end = next(user_turns, loop.last + 1)
        return [step for step in loop.steps if node.no <= step.no < end]

    @cached_property
    def _loops(self) -> dict[LoopKey, Loop]:
        loops: dict[LoopKey, Loop] = {}
        model_numbers: set[int] = set()
        for node in self._graph.nodes:
            if node.type is StepType.MODEL and node.no not in model_numbers:
                loop = self.recognition(node).loop
                if loop is not None:
                    loops[(loop.parent, self._graph.threads[node.no])] = loop
                    model_numbers.update(model.no for model in loop.models)
        return loops

    @cached_property
    def _keys(self) -> dict[int, LoopKey]:
        return {step.no: key for key, loop in self._loops.items() for step in (*loop.models, *loop.calls)}

    @cached_property
    def _last(self) -> dict[LoopKey, int]:
        return {key: loop.last for key, loop in self._loops.items()}
