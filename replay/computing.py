"""Outputs of steps that make no call: what they give follows from what they were given. Pure."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from replay.edits import NO_EDITS
from replay.graph import CHECKS, Link, Node
from replay.rebuild import Change, rebuilt_value, replaced_in
from replay.schemas import PlanAction
from replay.world import Answer, Call, label_key
from traces.canonical import digest
from traces.json_types import JSONObject, JSONValue
from traces.vocabulary import Label, Reason, StepType

if TYPE_CHECKING:
    from replay.walk import Walk

SEVERITY: Final = {Label.EXACT: 0, Label.CACHED: 1, Label.SIMULATED: 2, Label.LIVE: 0}
ACTIONS: Final[dict[Label, PlanAction]] = {
    Label.EXACT: "reuse",
    Label.CACHED: "cache",
    Label.SIMULATED: "simulate",
}
BEGUN: Final = "begun"


def computed(walk: "Walk", call: Call) -> Answer:
    """The answer of a step that makes no call, from the changed outputs in its input where they show in its own."""
    node = call.node
    if (resumed := walk.world.resumed(call.no)) is not None or node is None or call.edits is not NO_EDITS:
        return resumed or walk.resolvers.resolve(call)
    if call.changed and (anew := walk.subagents.opened(node)) is not None:
        return anew
    if call.changed and node.no in walk.graph.children:
        return _begun(node)
    if call.changed and node.type in CHECKS:
        return walk.resolvers.resolve(call)
    recorded = walk.world.payload(node.output_ref) if node.output_ref else None
    incoming = walk.incoming(node)
    producers = list({change.node.no: change for _, change in incoming}.values())
    output = replaced_in(recorded, producers)
    if digest(output) == digest(recorded) and node.type is StepType.OUTPUT:
        output, call = _passed_on(walk, call, recorded, incoming)
    changed = digest(output) != digest(recorded) or (recorded is None and call.changed)
    if not changed or not producers:
        return walk.resolvers.resolve(call)
    source = max(producers, key=lambda change: SEVERITY[walk.label_of(change.node)[0]])
    label, reason = walk.label_of(source.node)
    detail: JSONObject = {**label_key(), "derived_from": [walk.numbers.get(source.node.no, source.node.no)]}
    return Answer(
        action=ACTIONS[label],
        label=label,
        reason=reason,
        output=output,
        status=node.status,
        known=source.answered,
        source=node,
        detail=detail,
        note=f"Its text is that of step {source.node.no}",
    )


def _begun(node: Node) -> Answer:
    """What stands for a step around others that was given something else, until they have come."""
    return Answer(
        action="simulate", label=Label.SIMULATED, reason=Reason.ASSUMED_UNAFFECTED, known=False, source=node,
        detail={**label_key(), BEGUN: True}, note="What it says follows from the steps inside of it",
    )  # fmt: skip


def _passed_on(
    walk: "Walk", call: Call, recorded: JSONValue, incoming: Sequence[tuple[Link, Change]]
) -> tuple[JSONValue, Call]:
    """What an output step gives that has no input, or that gives its input as it is."""
    node = call.node
    if node is None or call.underived:
        return recorded, call
    if node.input_ref:
        return (call.input if node.input_ref == node.output_ref else recorded), call
    output = rebuilt_value(recorded, incoming, walk.underived.missed)
    walk.underived.check(node, incoming)
    return output, walk.underived.applied(call)
