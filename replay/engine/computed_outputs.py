"""Outputs of steps that make no call, derived from their changed inputs. Pure."""

from collections.abc import Sequence
from typing import Final

from replay.core.calls import ACTIONS, SEVERITY, Answer, Call, label_key
from replay.core.graph import CHECKS, Link, Node
from replay.inputs.changes import Change
from replay.inputs.rebuilt_inputs import replace_outputs
from replay.loops.replay_parts import ReplayParts
from replay.overrides.edits import NO_EDITS
from traces.core.canonical import digest
from traces.core.json_access import as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import Label, Reason, StepType
from traces.payloads.messages import ModelAnswer

PROVISIONAL: Final = "begun"


def compute_answer(parts: ReplayParts, call: Call) -> Answer:
    """Derive the answer of a step without a call: replace the changed upstream outputs that its output repeats."""
    node, context = call.node, parts.context
    if (
        (stored_answer := context.environment.committed_answer(call.no)) is not None
        or node is None
        or call.edits is not NO_EDITS
    ):
        return stored_answer or parts.chain.resolve(call)
    if call.changed and (rerun := parts.subagents.rerun_answer(node)) is not None:
        return rerun
    if call.changed and node.no in context.graph.children:
        return _provisional(node)
    if call.changed and node.type in CHECKS:
        return parts.chain.resolve(call)
    recorded_output = context.payload(node.output_ref)
    incoming = parts.calls.incoming(node)
    producers = list({change.node.no: change for _, change in incoming}.values())
    output = replace_outputs(recorded_output, producers)
    if not producers and (end := _new_end(parts, node, recorded_output)) is not None:
        return _from_weakest(parts, node, {"text": ModelAnswer(end.current).text}, [end])
    if digest(output) == digest(recorded_output) and node.type is StepType.OUTPUT:
        output, call = _output_step_value(parts, call, recorded_output, incoming)
    changed = digest(output) != digest(recorded_output) or (recorded_output is None and call.changed)
    if not changed or not producers:
        return parts.chain.resolve(call)
    return _from_weakest(parts, node, output, producers)


def _new_end(parts: ReplayParts, node: Node, recorded_output: JSONValue) -> Change | None:
    """Return the answer with which a run now ends, where its recorded output was the last text of its models."""
    answers = parts.reach.later_answers(node)
    if not answers or as_object(recorded_output).keys() != {"text"}:
        return None
    end = answers[-1]
    had_text = any(ModelAnswer(change.original).text for change in answers)
    is_answer = end.is_known and not ModelAnswer(end.current).calls
    return end if is_answer and not had_text else None


def _from_weakest(parts: ReplayParts, node: Node, output: JSONValue, producers: Sequence[Change]) -> Answer:
    """Answer with a derived output and the weakest label of its producers."""
    source = max(producers, key=lambda change: SEVERITY[parts.state.label_of(change.node)[0]])
    label, reason = parts.state.label_of(source.node)
    number = parts.state.numbers.get(source.node.no, source.node.no)
    detail: JSONObject = {**label_key(), "derived_from": [number]}
    return Answer(
        action=ACTIONS[label],
        label=label,
        reason=reason,
        output=output,
        status=node.status,
        is_known=source.is_known,
        source=node,
        detail=detail,
        note=f"Its text is that of step {source.node.no}",
    )


def _provisional(node: Node) -> Answer:
    """Provisional answer of a container whose input changed, until its children have resolved."""
    return Answer(
        action="simulate",
        label=Label.SIMULATED,
        reason=Reason.ASSUMED_UNAFFECTED,
        is_known=False,
        source=node,
        detail={**label_key(), PROVISIONAL: True},
        note="Its output follows from its children",
    )


def _output_step_value(
    parts: ReplayParts, call: Call, recorded_output: JSONValue, incoming: Sequence[tuple[Link, Change]]
) -> tuple[JSONValue, Call]:
    """Output of an output step that has no input or repeats its input."""
    node = call.node
    if node is None or call.unknown_producers:
        return recorded_output, call
    if node.input_ref:
        return (call.input if node.input_ref == node.output_ref else recorded_output), call
    return parts.calls.rebuild_output(call, recorded_output, incoming, node)
