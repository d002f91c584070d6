"""How changes travel: the provenance of both runs over pairs of steps."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final, Literal

from diffing.compare.comparison import Comparison
from diffing.compare.run_side import Link, Side
from traces.core.vocabulary import EdgeKind, StepType

SideName = Literal["base", "candidate"]
_VAGUE: Final = 3  # a link by history says less than two links that name what was passed on


@dataclass(frozen=True, kw_only=True, slots=True)
class Travel:
    """Pair `consumer` used what pair `producer` gave, on one side; both are places in the comparison."""

    producer: int
    consumer: int
    side: SideName
    kind: EdgeKind
    path: str
    evidence: str


class Flow:
    """The links of both runs by pair, looked up from either end."""

    def __init__(self, comparison: Comparison) -> None:
        self._pairs = comparison.pairs
        self.out: dict[int, list[Travel]] = {}
        self.into: dict[int, list[Travel]] = {}
        for travel in _travels(comparison):
            self.out.setdefault(travel.producer, []).append(travel)
            self.into.setdefault(travel.consumer, []).append(travel)

    def after(self, places: Collection[int]) -> set[int]:
        """Every place that a change at `places` can have come to."""
        return _walk(
            places, lambda place: [travel.consumer for travel in self.out.get(place, ()) if self.carries(travel)]
        )

    def before(self, place: int) -> set[int]:
        """The places from which a change can have come to `place`."""
        return _walk([place], lambda at: [travel.producer for travel in self.into.get(at, ()) if self.carries(travel)])

    def carries(self, travel: Travel) -> bool:
        """An answer that is the same carries no change; a conversation carries on what its requests held."""
        pair = self._pairs[travel.producer]
        return pair.answers_differently or (travel.kind is EdgeKind.HISTORY and pair.differs)

    def is_whole(self, travel: Travel) -> bool:
        """Whether all that was given was passed on, rather than words of it that stand among others."""
        rendered = self._pairs[travel.producer].step.type == StepType.PROMPT
        return travel.kind is not EdgeKind.VALUE and (travel.kind is not EdgeKind.TEXT or rendered)

    def way(self, start: int, end: int) -> list[Travel]:
        """The most telling way that a change can have taken from `start` to `end`; empty when there is none."""
        came: dict[int, Travel] = {}
        costs = {start: 0}
        waiting = [(0, start)]
        done: set[int] = set()
        while waiting and end not in done:
            cost, place = heappop(waiting)
            if place in done:
                continue
            done.add(place)
            for travel in self.out.get(place, ()):
                if travel.consumer not in done and self.carries(travel):
                    reached = cost + (_VAGUE if travel.kind is EdgeKind.HISTORY else 1)
                    if reached < costs.get(travel.consumer, reached + 1):
                        costs[travel.consumer] = reached
                        came[travel.consumer] = travel
                        heappush(waiting, (reached, travel.consumer))
        return list(_back(came, start, end))[::-1] if end in done else []


def _back(came: dict[int, Travel], start: int, end: int) -> Iterator[Travel]:
    at = end
    while at != start and at in came:
        yield came[at]
        at = came[at].producer


def _walk(starts: Collection[int], following: Callable[[int], Collection[int]]) -> set[int]:
    seen: set[int] = set()
    waiting = list(starts)
    while waiting:
        for place in following(waiting.pop()):
            if place not in seen:
                seen.add(place)
                waiting.append(place)
    return seen


def _travels(comparison: Comparison) -> Iterator[Travel]:
    """The candidate's links first: a way through what happened last reads better."""
    sides: tuple[tuple[SideName, Side, dict[int, int]], ...] = (
        ("candidate", comparison.candidate, comparison.places[1]),
        ("base", comparison.base, comparison.places[0]),
    )
    for name, side, places in sides:
        for link in (*side.links, *_assumed(side)):
            if link.producer in places and link.consumer in places:
                yield Travel(
                    producer=places[link.producer],
                    consumer=places[link.consumer],
                    side=name,
                    kind=EdgeKind(link.kind),
                    path=link.path,
                    evidence=link.evidence,
                )


def _assumed(side: Side) -> Iterator[Link]:
    """An output step that no recorded link leads to gives what the last model step before it said."""
    linked = {link.consumer for link in side.links}
    last = None
    for step in side.steps:
        if step.type == StepType.OUTPUT and step.sequence_no not in linked and last is not None:
            yield Link(
                producer=last, consumer=step.sequence_no, kind=EdgeKind.TEXT, evidence="the last answer before it"
            )
        if step.type == StepType.MODEL:
            last = step.sequence_no
