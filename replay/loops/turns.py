"""Turns under hooks: end turns, make tool calls, stop loops. Pure."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from replay.core.calls import Answer, Call
from replay.core.errors import ReplayFailure
from replay.core.events import Divergence, Event, StepResolved, StepSkipped
from replay.core.graph import Node
from replay.detection.agent_loops import LOOP_TYPES, LoopKey
from replay.loops.hook_points import Verdict, error_answer, stop_answer, stop_text
from replay.loops.replay_parts import ReplayParts
from replay.loops.subagents import RERUN
from replay.overrides.edits import NO_EDITS
from replay.state.rebuilt_messages import DivergedHistory
from traces.core.canonical import digest
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepType
from traces.payloads.messages import ModelAnswer
from traces.signatures.call_signatures import signature


def end_turns(parts: ReplayParts, node: Node | None) -> None:
    """End the turns that `node` does not belong to; None ends all."""
    points = parts.points
    while (turn := points.turn) is not None:
        is_inside = node is not None and node.no <= parts.loops.last(turn)
        if is_inside and not (node is not None and node.type is StepType.MODEL and parts.loops.key_of(node) == turn):
            return
        points.end_turn(parts.state.next_number - 1)


@contextmanager
def closing_turns(parts: ReplayParts) -> Iterator[None]:
    """End all open turns when the replay ends or fails."""
    try:
        yield
    except ReplayFailure:
        end_turns(parts, None)
        raise
    end_turns(parts, None)


def is_affected_by_hook(parts: ReplayParts, node: Node) -> bool:
    """True if a hook's decision affects this step."""
    return node.type in LOOP_TYPES and parts.points.affects_next_step(
        parts.loops.key_of(node), model=node.type is StepType.MODEL
    )


def make_tool_call(
    parts: ReplayParts, loop: LoopKey, call: Call, verdict: Verdict, answer: Callable[[], Answer]
) -> Answer:
    """Make a tool call under hooks, and report its end to them."""
    try:
        result = verdict.denial_answer() or verdict.annotate(answer())
    except ReplayFailure as failure:
        parts.points.after_tool(loop, call, error_answer(str(failure)))
        raise
    parts.points.after_tool(loop, call, result)
    return result


def stop_loop(parts: ReplayParts, node: Node) -> Iterator[Event]:
    """Stop a loop at a hook's decision: skip its steps from `node` to the next user message."""
    key = parts.loops.key_of(node)
    outcome = parts.points.stops.pop(key)
    stopped_steps = [step for step in parts.loops.rest(node) if step is node or not parts.state.queue.is_done(step)]
    yield Divergence(text=f"{stop_text(outcome)}; its loop ends before step {node.no} of the source.")
    parts.state.skipped_steps.add(node.no)
    yield StepSkipped(node=node, reason=stop_text(outcome), is_reported=True)
    yield from parts.state.skip(stopped_steps, stop_text(outcome), is_reported=True)
    models = [step for step in stopped_steps if step.type is StepType.MODEL and parts.loops.key_of(step) == key]
    if models:
        answer = stop_answer(outcome)
        base = parts.calls.messages(models[0], NO_EDITS)
        ids = frozenset(step.call_id for step in stopped_steps if step.call_id)
        history = DivergedHistory(base=base, tail=[ModelAnswer(answer.output).message], call_ids=ids)
        for step in models:
            parts.state.histories.record_divergence(step.no, history)
        parts.results.settle(models[-1], answer)


def resolve_tool(parts: ReplayParts, node: Node) -> Iterator[Event]:
    """Resolve a tool step; hooks may deny it or change its arguments, unless an override answers it."""
    call = parts.calls.of_step(node)
    if not parts.points.active or call.edits.tool is not None or call.edits.output is not None:
        answer = parts.chain.resolve(call)
    else:
        verdict = parts.points.before_tool(call.no, call.callee, call.input, call.call_id)
        if verdict.arguments is not call.input:
            call = _with_arguments(parts, call, node, verdict.arguments)
        answer = make_tool_call(parts, parts.loops.key_of(node), call, verdict, lambda: parts.chain.resolve(call))
    yield StepResolved(call=call, answer=answer)
    if not answer.detail.get(RERUN):
        parts.results.settle(node, answer)
    yield from parts.subagents.enter_call(call, answer)


def _with_arguments(parts: ReplayParts, call: Call, node: Node, arguments: JSONValue) -> Call:
    """Call of a recorded tool with a hook's arguments."""
    recorded_arguments = parts.context.payload(node.input_ref)
    is_unchanged = digest(recorded_arguments) == digest(arguments)
    new_signature = signature(type=call.type, name=call.name, input=arguments, tool_name=call.tool_name)
    return replace(
        call,
        input=arguments,
        signature=node.signature if is_unchanged else new_signature,
        changed=not is_unchanged,
        differs=() if is_unchanged else ("arguments",),
    )
