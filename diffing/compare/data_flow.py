"""Data flow: the recorded provenance of both runs, as links between pairs of steps."""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from heapq import heappop, heappush
from typing import Final, Literal, NamedTuple

from diffing.compare.comparison import Comparison, Pair
from diffing.compare.run_side import Link, SideStep, inner_calls
from traces.core.vocabulary import EdgeKind, StepType

SideName = Literal["base", "candidate"]
# A link by history is less specific than two links that name the content that was passed on.
_HISTORY_COST: Final = 3
# In Python 3.11, reading a member of an enum takes ten times as long as reading a constant.
_OUTPUT: Final = StepType.OUTPUT
_KINDS: Final = {str(member): member for member in EdgeKind}


class FlowLink(NamedTuple):
    """Pair `consumer` used the output of pair `producer` on one side; both are places in the comparison."""

    producer: int
    consumer: int
    side: SideName
    kind: EdgeKind
    path: str
    evidence: str


class Flow:
    """The links of both runs, by producer and by consumer, read as needed.

    Most reasoning needs those of the differing pairs and of the answers, which are few in two long runs.
    """

    def __init__(self, comparison: Comparison) -> None:
        self._pairs = comparison.pairs
        # The candidate first: a path through the newer run reads better.
        self._sides = _SideFlow(comparison, "candidate"), _SideFlow(comparison, "base")
        self._outgoing: dict[int, list[FlowLink]] = {}
        self._incoming: dict[int, list[FlowLink]] = {}

    def outgoing(self, place: int) -> list[FlowLink]:
        """The links from a pair."""
        if place not in self._outgoing:
            self._outgoing[place] = [travel for side in self._sides for travel in side.outgoing(self._pairs[place])]
        return self._outgoing[place]

    def incoming(self, place: int) -> list[FlowLink]:
        """The links to a pair."""
        if place not in self._incoming:
            self._incoming[place] = [travel for side in self._sides for travel in side.incoming(self._pairs[place])]
        return self._incoming[place]

    def after(self, places: Collection[int]) -> set[int]:
        """Every place that a change at `places` can have reached."""
        return _reachable(places, lambda place: [travel.consumer for travel in self._carriers(place)])

    def before(self, place: int) -> set[int]:
        """The places from which a change can have reached `place`."""
        return _reachable([place], lambda at: [travel.producer for travel in self.incoming(at) if self.carries(travel)])

    def _carriers(self, place: int) -> list[FlowLink]:
        """The links from a pair that can carry a change."""
        return [travel for travel in self.outgoing(place) if self.carries(travel)] if self._pairs[place].differs else []

    def carries(self, travel: FlowLink) -> bool:
        """True if a link can carry a change: a differing answer, or a differing conversation."""
        pair = self._pairs[travel.producer]
        return pair.answers_differently or (travel.kind is EdgeKind.HISTORY and pair.differs)

    def is_whole(self, travel: FlowLink) -> bool:
        """True if the whole output was passed on, rather than some words of it."""
        is_prompt = self._pairs[travel.producer].step.type == StepType.PROMPT
        return travel.kind is not EdgeKind.VALUE and (travel.kind is not EdgeKind.TEXT or is_prompt)

    def path(self, start: int, end: int) -> list[FlowLink]:
        """The most specific path of a change from `start` to `end`; empty if there is none."""
        arrivals: dict[int, FlowLink] = {}
        costs = {start: 0}
        queue = [(0, start)]
        settled_places: set[int] = set()
        while queue and end not in settled_places:
            cost, place = heappop(queue)
            if place in settled_places:
                continue
            settled_places.add(place)
            for travel in self._carriers(place):
                if travel.consumer not in settled_places:
                    new_cost = cost + (_HISTORY_COST if travel.kind is EdgeKind.HISTORY else 1)
                    if new_cost < costs.get(travel.consumer, new_cost + 1):
                        costs[travel.consumer] = new_cost
                        arrivals[travel.consumer] = travel
                        heappush(queue, (new_cost, travel.consumer))
        return list(_trace_back(arrivals, start, end))[::-1] if end in settled_places else []


def _trace_back(arrivals: dict[int, FlowLink], start: int, end: int) -> Iterator[FlowLink]:
    at = end
    while at != start and at in arrivals:
        yield arrivals[at]
        at = arrivals[at].producer


def _reachable(starts: Collection[int], following: Callable[[int], Collection[int]]) -> set[int]:
    reachable: set[int] = set()
    queue = list(starts)
    while queue:
        for place in following(queue.pop()):
            if place not in reachable:
                reachable.add(place)
                queue.append(place)
    return reachable


class _SideFlow:
    """The links of one run, by the sequence numbers of its steps."""

    def __init__(self, comparison: Comparison, name: SideName) -> None:
        self._side = comparison.base if name == "base" else comparison.candidate
        self._name: Final = name
        self._places = comparison.places[name == "candidate"]
        self._by_producer: dict[int, list[Link]] = {}
        self._by_consumer: dict[int, list[Link]] = {}
        self._numbers: Collection[int] = ()
        # Between equal runs, nothing travels.
        if any(pair.differs for pair in comparison.pairs):
            pairs = [pair for pair in comparison.pairs if pair.differs or pair is comparison.final]
            numbers = {step.sequence_no for pair in pairs if (step := self._step(pair))}
            self._read(numbers.union(step.sequence_no for step in self._side.steps if step.type == _OUTPUT))

    def _step(self, pair: Pair) -> SideStep | None:
        return pair.base if self._name == "base" else pair.candidate

    def _read(self, numbers: Collection[int]) -> None:
        """Read the links from and to these steps, in place of those that were read before."""
        self._numbers, self._by_producer, self._by_consumer = numbers, {}, {}
        links = self._side.links(numbers)
        for link in (*links, *_implied_links(self._side.steps, links), *_inner_links(self._side.steps)):
            self._by_producer.setdefault(link.producer, []).append(link)
            self._by_consumer.setdefault(link.consumer, []).append(link)

    def outgoing(self, pair: Pair) -> Iterator[FlowLink]:
        self._ensure(pair)
        return self._travels(self._by_producer, pair)

    def incoming(self, pair: Pair) -> Iterator[FlowLink]:
        self._ensure(pair)
        return self._travels(self._by_consumer, pair)

    def _ensure(self, pair: Pair) -> None:
        """Read all links if those of a pair are not read."""
        if (step := self._step(pair)) and step.sequence_no not in self._numbers:
            self._read(self._places.keys())

    def _travels(self, links: dict[int, list[Link]], pair: Pair) -> Iterator[FlowLink]:
        step = self._step(pair)
        for link in links.get(step.sequence_no, ()) if step else ():
            if link.producer in self._places and link.consumer in self._places:
                yield FlowLink(
                    self._places[link.producer],
                    self._places[link.consumer],
                    self._name,
                    _KINDS[link.kind],
                    link.path,
                    link.evidence,
                )


def _implied_links(steps: Sequence[SideStep], links: Sequence[Link]) -> Iterator[Link]:
    """Link output steps without a recorded source to the last model step before them."""
    outputs = [step.sequence_no for step in steps if step.type == _OUTPUT]
    if not outputs:
        return
    linked_consumers = {link.consumer for link in links}
    models = [step.sequence_no for step in steps if step.type == StepType.MODEL]
    for output in outputs:
        position = bisect_left(models, output)
        if output not in linked_consumers and position:
            yield Link(
                producer=models[position - 1], consumer=output, kind=EdgeKind.TEXT, evidence="the last answer before it"
            )


def _inner_links(steps: Sequence[SideStep]) -> Iterator[Link]:
    """Link the steps inside a tool call to it: its result comes from them."""
    for number, call in inner_calls(steps).items():
        yield Link(producer=number, consumer=call, kind=EdgeKind.TEXT, evidence="a step inside the call")
