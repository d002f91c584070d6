"""The turns of a walk's loops, their tool calls, and loops that a hook has stopped. Pure."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from replay.edits import NO_EDITS
from replay.graph import Node
from replay.history import Followed
from replay.hooks.points import stop_text, stopped
from replay.loops import spoken_to
from replay.rebuild import answer_of
from replay.subagents import RAN
from replay.world import Call, Diverged, Event, Gone, Resolved
from traces.canonical import digest
from traces.json_types import JSONValue
from traces.signatures import signature
from traces.vocabulary import StepType

if TYPE_CHECKING:
    from replay.walk import Walk

LOOPED: Final = frozenset({StepType.MODEL, StepType.TOOL})


def end(walk: "Walk", node: Node | None) -> None:
    """End the turns that `node` no longer belongs to; None: all of them."""
    points = walk.points
    while (parent := points.turn) is not False:
        if node is not None and _belongs(walk, node, parent):
            return
        points.turn_ended(walk.next_no - 1)


def number(walk: "Walk", node: Node) -> int:
    """How many model calls came before this one under its parent, from the fork on."""
    if not walk.points.active:
        return 0
    siblings = walk.graph.children.get(node.parent, ())
    return sum(step.type is StepType.MODEL and step.no < node.no for step in siblings)


def stop(walk: "Walk", node: Node) -> Iterator[Event]:
    """A hook stopped this loop: its steps from `node` on are gone, up to where somebody else speaks."""
    outcome = walk.points.stops[node.parent]
    gone = [step for step in _steps_from(walk, node) if step is node or not walk.agenda.is_done(step)]
    yield Diverged(text=f"{stop_text(outcome)}; its loop ends before step {node.no} of the source.")
    walk.gone.add(node.no)
    yield Gone(node=node, why=stop_text(outcome), told=True)
    yield from walk.drop(gone, stop_text(outcome), told=True)
    del walk.points.stops[node.parent]
    models = [step for step in gone if step.type is StepType.MODEL and step.parent == node.parent]
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
        answer = verdict.denied() or verdict.on(walk.resolvers.resolve(call))
        walk.points.after_tool(node.parent, call, answer)
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


def _belongs(walk: "Walk", node: Node, parent: int | None) -> bool:
    if node.parent == parent:
        return node.type is not StepType.MODEL
    return parent is None or any(above.no == parent for above in walk.graph.ancestors(node))


def _steps_from(walk: "Walk", node: Node) -> list[Node]:
    """The steps of a loop from `node` on, with what they hold."""
    graph = walk.graph
    siblings = [step for step in graph.children[node.parent] if step.no >= node.no and step.type in LOOPED]
    models = [step for step in siblings if step.type is StepType.MODEL]
    spoken = (step.no for step in models[1:] if spoken_to(graph, step, walk.recorded_input(step)))
    end = next(spoken, graph.last + 1)
    tops = {step.no for step in siblings if step.no < end}
    inside = (step for step in graph.nodes if node.no <= step.no < end)
    return [step for step in inside if step.no in tops or tops & {above.no for above in graph.ancestors(step)}]
