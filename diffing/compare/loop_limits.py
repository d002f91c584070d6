"""Loops that code ended: the last model of a run requested calls, and its agent was called more often in the other run.

    base       model "look it up"  tool  model "reserve"  tool  model "Reserved."
    candidate  model "look it up"  tool  model "reserve"  tool                        code called the model no more

A model ends its loop by an answer without calls, or by a tool after which no model is called, such as one that
submits the result. A limit that both runs have ends neither of them earlier. So a limit differs, or somebody ended the
loop, whatever else differs.

Where other models go on after a loop, a result may have ended it, as that of a test that passed. Code ended it for
certain only if the last tools answered alike in both runs, and only one of them then called the model again.
"""

from collections.abc import Iterator
from typing import Final

from diffing.compare.comparison import Comparison, Pair
from diffing.compare.data_flow import Flow
from diffing.compare.placeholders import FAILED
from diffing.compare.run_side import Side, SideStep
from traces.core.vocabulary import EdgeKind, RunStatus, StepType

# Runs that are not over, or of which the end was not recorded.
_WITHOUT_END: Final = frozenset({RunStatus.RUNNING, RunStatus.PARTIAL})


def further_calls(comparison: Comparison, flow: Flow) -> frozenset[int]:
    """The places of the first model steps that one run lacks because code ended the agent's loop there."""
    return frozenset((*_further_calls(comparison, flow), *_calls_after_equal_results(comparison, flow)))


def _further_calls(comparison: Comparison, flow: Flow) -> Iterator[int]:
    sides = comparison.base, comparison.candidate
    for side, (own, other) in enumerate((sides, sides[::-1])):
        last = _last_request(own, flow, comparison.places[side], ("base", "candidate")[side])
        if last is None or _count(other, last.role) <= _count(own, last.role):
            continue
        last_tools = {step.role for step in own.steps if _is_tool(step) and step.sequence_no > last.sequence_no}
        if last_tools <= _answered_tools(own, last.role) | _answered_tools(other, last.role):
            lone = (pair for pair in comparison.of_type(StepType.MODEL) if (pair.base, pair.candidate)[side] is None)
            yield from [pair.place for pair in lone if pair.step.role == last.role][:1]


def _calls_after_equal_results(comparison: Comparison, flow: Flow) -> Iterator[int]:
    """The model steps of one run that go on after results at which the agent's loop ends in the other run."""
    sides = comparison.base, comparison.candidate
    for pair in comparison.of_type(StepType.MODEL):
        request = _previous_step(comparison, flow, pair) if pair.sides is None else None
        if request is None or request.sides is None:
            continue
        lacking, role = int(pair.base is not None), pair.step.role
        own, other, last = sides[lacking], sides[1 - lacking], request.sides[lacking]
        later = {step.role for step in own.steps if step.type == StepType.MODEL and step.sequence_no > last.sequence_no}
        is_ended = bool(later) and role not in later and last.role == role and _count(other, role) > _count(own, role)
        if is_ended and _has_equal_results(comparison, flow, request):
            yield pair.place


def _previous_step(comparison: Comparison, flow: Flow, pair: Pair) -> Pair | None:
    """The step whose conversation a step continues."""
    producers = [link.producer for link in flow.incoming(pair.place) if link.kind is EdgeKind.HISTORY]
    return max((comparison.pairs[place] for place in producers), key=lambda own: own.order_key, default=None)


def _has_equal_results(comparison: Comparison, flow: Flow, request: Pair) -> bool:
    """Return whether both runs carried out the same calls of a model with the same results."""
    links = [link for link in flow.outgoing(request.place) if link.kind is EdgeKind.TOOL_CALL_ID]
    base, candidate = ({link.consumer for link in links if link.side == side} for side in ("base", "candidate"))
    tools = [comparison.pairs[place] for place in base]
    return bool(tools) and base == candidate and not any(tool.answers_differently for tool in tools)


def _last_request(run: Side, flow: Flow, places: dict[int, int], side: str) -> SideStep | None:
    """The last model step of a run, whose calls the run carries out; None if an answer or a failure ended it."""
    last = next((step for step in reversed(run.steps) if step.type == StepType.MODEL), None)
    if last is None or run.run.status in _WITHOUT_END:
        return None
    if any(step.status in FAILED for step in run.steps if step.sequence_no > last.sequence_no):
        return None
    links = (link for link in flow.outgoing(places[last.sequence_no]) if link.side == side)
    return last if any(link.kind is EdgeKind.TOOL_CALL_ID for link in links) else None


def _answered_tools(run: Side, role: str) -> set[str]:
    """The tools after which an agent's model was called again."""
    numbers = [step.sequence_no for step in run.steps if step.type == StepType.MODEL and step.role == role]
    last_number = max(numbers, default=0)
    return {step.role for step in run.steps if _is_tool(step) and step.sequence_no < last_number}


def _is_tool(step: SideStep) -> bool:
    return step.type == StepType.TOOL


def _count(run: Side, role: str) -> int:
    return sum(step.type == StepType.MODEL and step.role == role for step in run.steps)
