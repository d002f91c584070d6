"""The turns of a walk's loops, their tool calls, and loops that a hook has stopped. Pure."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from replay.edits import NO_EDITS
from replay.graph import Node
from replay.history import Followed
from replay.hooks.points import NOWHERE, Key, Verdict, failed, stop_text, stopped
from replay.loops import Loop
from replay.problems import Stopped
from replay.rebuild import answer_of
from replay.subagents import RAN
from replay.telling import spoken_to
from replay.world import Answer, Call, Diverged, Event, Gone, Resolved
from traces.canonical import digest
from traces.json_types import JSONValue
from traces.signatures import signature
from traces.vocabulary import StepType

if TYPE_CHECKING:
    from replay.walk import Walk

LOOPED: Final = frozenset({StepType.MODEL, StepType.TOOL})


class Loops:
    """Which loop each step belongs to, and where that ends. Looked up only where somebody listens."""

    def __init__(self, walk: "Walk") -> None:
        self.walk = walk

    def of(self, node: Node) -> Key:
        if not self.walk.points.active:
            return NOWHERE
        return self._keys.get(node.no, (node.parent, None))

    def last(self, key: Key) -> int:
        """The number of the last step of a loop; of a step outside of any, the end of what holds it."""
        return self._last.get(key, self.walk.graph.ends.get(key[0] or 0, self.walk.graph.last))

    @cached_property
    def _found(self) -> dict[Key, Loop]:
        found: dict[Key, Loop] = {}
        known: set[int] = set()
        for node in self.walk.graph.nodes:
            if node.type is StepType.MODEL and node.no not in known:
                loop = self.walk.recognition(node).loop
                if loop is not None:
                    found[(loop.parent, self.walk.graph.threads[node.no])] = loop
                    known.update(model.no for model in loop.models)
        return found

    @cached_property
    def _keys(self) -> dict[int, Key]:
        return {step.no: key for key, loop in self._found.items() for step in (*loop.models, *loop.calls)}

    @cached_property
    def _last(self) -> dict[Key, int]:
        return {key: loop.last for key, loop in self._found.items()}

    def before(self, node: Node) -> int:
        """How many model calls of the loop came before this one, from the fork on."""
        key = self.of(node)
        loop = self._found.get(key) if key is not NOWHERE else None
        return 0 if loop is None else sum(model.no < node.no for model in loop.models)

    def rest(self, node: Node) -> list[Node]:
        """The steps of a loop from `node` on, up to where somebody else speaks."""
        graph, loop = self.walk.graph, self._found.get(self.of(node))
        if loop is None:
            siblings = [step for step in graph.children[node.parent] if step.no >= node.no and step.type in LOOPED]
            return [step for top in siblings for step in (top, *graph.inside(top.no))]
        models = [model for model in loop.models if model.no >= node.no]
        spoken = (model.no for model in models[1:] if spoken_to(graph, model, self.walk.recorded_input(model)))
        end = next(spoken, loop.last + 1)
        return [step for step in loop.steps if node.no <= step.no < end]


def end(walk: "Walk", node: Node | None) -> None:
    """End the turns that `node` no longer belongs to; None: all of them."""
    points = walk.points
    while (turn := points.turn) is not None:
        inside = node is not None and node.no <= walk.loops.last(turn)
        if inside and not (node is not None and node.type is StepType.MODEL and walk.loops.of(node) == turn):
            return
        points.turn_ended(walk.next_no - 1)


@contextmanager
def ending(walk: "Walk") -> Iterator[None]:
    """At the end, and where the replay fails, all turns that are open are over."""
    try:
        yield
    except Stopped:
        end(walk, None)
        raise
    end(walk, None)


def is_awaited(walk: "Walk", node: Node) -> bool:
    """Whether a hook said something to this step's loop that reaches it."""
    return node.type in LOOPED and walk.points.waits(walk.loops.of(node), model=node.type is StepType.MODEL)


def made(walk: "Walk", loop: Key, call: Call, verdict: Verdict, answer: Callable[[], Answer]) -> Answer:
    """A tool call as hooks let it be made, and what they are told of its end."""
    try:
        found = verdict.denied() or verdict.on(answer())
    except Stopped as stopped:
        walk.points.after_tool(loop, call, failed(str(stopped)))
        raise
    walk.points.after_tool(loop, call, found)
    return found


def stop(walk: "Walk", node: Node) -> Iterator[Event]:
    """A hook stopped this loop: its steps from `node` on are gone, up to where somebody else speaks."""
    key = walk.loops.of(node)
    outcome = walk.points.stops.pop(key)
    gone = [step for step in walk.loops.rest(node) if step is node or not walk.agenda.is_done(step)]
    yield Diverged(text=f"{stop_text(outcome)}; its loop ends before step {node.no} of the source.")
    walk.gone.add(node.no)
    yield Gone(node=node, why=stop_text(outcome), told=True)
    yield from walk.drop(gone, stop_text(outcome), told=True)
    models = [step for step in gone if step.type is StepType.MODEL and walk.loops.of(step) == key]
    if models:
        answer = stopped(outcome)
        _, base = walk.messages(models[0], walk.recorded_input(models[0]), NO_EDITS)
        ids = frozenset(step.call_id for step in gone if step.call_id)
        went = Followed(base=base, tail=[answer_of(answer.output)], call_ids=ids)
        for step in models:
            walk.histories.followed(step.no, went)
        walk.settle(models[-1], answer)


def tool(walk: "Walk", node: Node) -> Iterator[Event]:
    """A tool call that is made anew; hooks may deny it or change its arguments, unless the operator answers it."""
    call = walk.rebuilt_call(node)
    if call.edits.tool is not None or call.edits.output is not None:
        answer = walk.resolvers.resolve(call)
    else:
        verdict = walk.points.before_tool(call.no, call.called, call.input, call.call_id)
        if verdict.arguments is not call.input:
            call = _with_arguments(walk, call, node, verdict.arguments)
        answer = made(walk, walk.loops.of(node), call, verdict, lambda: walk.resolvers.resolve(call))
    yield Resolved(call=call, answer=answer)
    if not answer.detail.get(RAN):
        walk.settle(node, answer)
    yield from walk.called(call, answer)


def _with_arguments(walk: "Walk", call: Call, node: Node, arguments: JSONValue) -> Call:
    """The call of a recorded tool with the arguments that a hook gave it."""
    recorded = walk.world.payload(node.input_ref) if node.input_ref else None
    same = digest(recorded) == digest(arguments)
    signed = signature(type=call.type, name=call.name, input=arguments, tool_name=call.tool_name)
    return replace(
        call, input=arguments, signature=node.signature if same else signed, changed=not same,
        differs=() if same else ("arguments",),
    )  # fmt: skip
