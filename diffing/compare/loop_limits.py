"""Loops that code ended: the last model of a run requested calls, and its agent was called more often in the other run.

    base       model "look it up"  tool  model "reserve"  tool  model "Reserved."
    candidate  model "look it up"  tool  model "reserve"  tool                        code called the model no more

A model ends its loop by an answer without calls, and a limit that both runs have ends neither of them earlier. So it
is the limit that differs, whatever else does.
"""

from collections.abc import Iterator

from diffing.compare.comparison import Comparison
from diffing.compare.data_flow import Flow
from diffing.compare.placeholders import FAILED
from diffing.compare.run_side import Side
from traces.core.vocabulary import EdgeKind, StepType


def further_calls(comparison: Comparison, flow: Flow) -> frozenset[int]:
    """The places of the first model steps that one run lacks because code ended the agent's loop there."""
    return frozenset(_further_calls(comparison, flow))


def _further_calls(comparison: Comparison, flow: Flow) -> Iterator[int]:
    sides = comparison.base, comparison.candidate
    for side, (own, other) in enumerate((sides, sides[::-1])):
        role = _cut_agent(own, flow, comparison.places[side], ("base", "candidate")[side])
        if role is not None and _count(other, role) > _count(own, role):
            lone = (pair for pair in comparison.of_type(StepType.MODEL) if (pair.base, pair.candidate)[side] is None)
            yield from [pair.place for pair in lone if pair.step.role == role][:1]


def _cut_agent(run: Side, flow: Flow, places: dict[int, int], side: str) -> str | None:
    """The agent whose calls the run carries out without a further answer; None if a model or a failure ended it."""
    last = next((step for step in reversed(run.steps) if step.type == StepType.MODEL), None)
    if last is None or any(step.status in FAILED for step in run.steps if step.sequence_no > last.sequence_no):
        return None
    links = (link for link in flow.outgoing(places[last.sequence_no]) if link.side == side)
    return last.role if any(link.kind is EdgeKind.TOOL_CALL_ID for link in links) else None


def _count(run: Side, role: str) -> int:
    return sum(step.type == StepType.MODEL and step.role == role for step in run.steps)
