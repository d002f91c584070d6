"""Certificates: changes that cannot have mattered in this run, by the recordings alone and without any replay. Pure.

They hold for taking one change alone back from the candidate. What a change would do on its own is not theirs to say.
"""

from collections.abc import Collection

from diffing.comparison import Pair
from diffing.evidence_schemas import Certificate
from diffing.report import Examined


def certify(seen: Examined, places: Collection[int]) -> Certificate | None:
    """Why a change at these pairs cannot have reached the final answer; None where it can have."""
    comparison, flow, live = seen.comparison, seen.flow, seen.found.live
    # Links that lead from no change to the answer are incomplete, and certify nothing.
    if comparison.final is None or not seen.found.connected or not places:
        return None
    own = [comparison.pairs[place] for place in places]
    reached = (flow.after(places) | set(places)) & live
    if any(comparison.pairs[place].answers_differently for place in reached):
        return None
    if all(_same(pair) for pair in own):
        return Certificate(kind="inert", reason="every step that it acts on answered the same in both runs")
    if comparison.final.place in _reachable(seen, places):
        reason = "every way from it to the final answer passes a step that answered the same in both runs"
        return Certificate(kind="dominated", reason=reason)
    return Certificate(kind="unreached", reason="no recorded data flow leads from it to the final answer")


def _same(pair: Pair) -> bool:
    return pair.both is not None and not pair.answers_differently


def _reachable(seen: Examined, places: Collection[int]) -> set[int]:
    """Every pair that the recorded data flow leads to, whatever was passed on."""
    found = set(places)
    waiting = list(places)
    while waiting:
        for travel in seen.flow.out.get(waiting.pop(), ()):
            if travel.consumer not in found:
                found.add(travel.consumer)
                waiting.append(travel.consumer)
    return found
