"""The search of a bisection: which forks to try next, and where the turning point is. Pure.

Places are the steps from which a probe can regenerate the run, in order, from 0. After the last of them comes the
recording itself, which is known to fail. A place *passes* if any of its samples did: at that point, the run could still
succeed. Usually every place before a passing one passes too, and a binary search finds the last of them. If an earlier
one fails, the remaining places are scanned within the budget.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import comb
from typing import Final, Literal

from traces.statistics.rate_intervals import wilson

Confidence = Literal["high", "medium", "low"]
_STRONG: Final = 0.01
_FAIR: Final = 0.05


class State(StrEnum):
    """The state of a place."""

    PASSES = "passes"
    FAILS = "fails"
    # Not enough samples yet.
    OPEN = "open"
    # Tried often enough, without a clear sample.
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class Tally:
    """Samples of one place by verdict. `placeholder_*` count those that rest on a placeholder."""

    passes: int = 0
    failures: int = 0
    unclear: int = 0
    running: int = 0
    placeholder_passes: int = 0
    placeholder_failures: int = 0

    @property
    def clear(self) -> int:
        return self.passes + self.failures

    @property
    def tries(self) -> int:
        return self.clear + self.unclear

    def is_complete(self, samples: int) -> bool:
        """Return whether there are enough clear samples, or twice as many tries."""
        return self.clear >= samples or self.tries >= 2 * samples


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Samples of the repeats, of each tried place, and of both sides of the turning point.

    `scan`: the number of places to try while none passes. `changed`: probes have overrides, so that the repeats are
    not probes of the first place.
    """

    reproduce: int
    samples: int
    confirm: int
    scan: int
    changed: bool


@dataclass(frozen=True, kw_only=True)
class Findings:
    """Tallies of `count` places, and of whole repeats without overrides."""

    count: int
    repeats: Tally = field(default_factory=Tally)
    places: Mapping[int, Tally] = field(default_factory=dict)

    def at(self, place: int) -> Tally:
        return self.places.get(place, Tally())


@dataclass(frozen=True, kw_only=True)
class SampleRequest:
    """A number of clear samples of a place; None: of whole repeats. `any_pass`: one that passes is enough."""

    place: int | None
    samples: int
    any_pass: bool = True


@dataclass(frozen=True, kw_only=True)
class Turn:
    """The turning point: the last place that passes, and the first failing one after it (`count`: the recording)."""

    last: int
    after: int
    first: int
    monotone: bool
    is_settled: bool


def next_samples(findings: Findings, settings: Settings) -> SampleRequest | None:
    """The samples to draw next; None if the search is over."""
    repeats = findings.repeats if settings.changed else findings.at(0)
    if not repeats.is_complete(settings.reproduce):
        return SampleRequest(place=None if settings.changed else 0, samples=settings.reproduce, any_pass=False)
    # If no repeat has a verdict, no other probe would have one.
    if not repeats.clear:
        return None
    return next(_search(findings, settings), None)


def state(tally: Tally, samples: int) -> State:
    if tally.passes:
        return State.PASSES
    if not tally.is_complete(samples):
        return State.OPEN
    return State.FAILS if tally.failures else State.UNKNOWN


def turn(findings: Findings, settings: Settings) -> Turn | None:
    """The turning point, as far as it is known; None while no place is known to pass."""
    states = _states(findings, settings)
    passing = [place for place, place_state in enumerate(states) if place_state is State.PASSES]
    if not passing:
        return None
    last = passing[-1]
    after = next((place for place in range(last + 1, findings.count) if states[place] is State.FAILS), findings.count)
    return Turn(
        last=last,
        after=after,
        first=passing[0],
        monotone=State.FAILS not in states[:last],
        is_settled=State.OPEN not in states[last + 1 : after],
    )


def confidence(findings: Findings, settings: Settings, turning_point: Turn) -> Confidence:
    """The confidence in the turning point, by the samples on both sides.

    It is at most medium if one side rests on placeholders, or if an earlier place fails.
    """
    if not turning_point.is_settled:
        return "low"
    before, after = findings.at(turning_point.last), findings.at(turning_point.after)
    # After the last place comes the recording, which certainly fails.
    if turning_point.after == findings.count:
        grade = 2 if _least_rate(before) > 0.5 else 1 if before.passes > 1 else 0
    else:
        chance = by_chance(before, after)
        grade = 2 if chance < _STRONG else 1 if chance < _FAIR else 0
    rests_on_placeholders = before.placeholder_passes == before.passes or (
        after.failures > 0 and after.placeholder_failures == after.failures
    )
    if rests_on_placeholders or not turning_point.monotone:
        grade = min(grade, 1)
    grades: tuple[Confidence, ...] = ("low", "medium", "high")
    return grades[grade]


def by_chance(before: Tally, after: Tally) -> float:
    """The p of samples this unequal if both places pass at the same rate (Fisher's exact test, one-sided)."""
    pass_count, total = before.passes + after.passes, before.clear + after.clear
    most = min(pass_count, before.clear)
    ways = sum(comb(before.clear, k) * comb(after.clear, pass_count - k) for k in range(before.passes, most + 1))
    return ways / comb(total, pass_count) if total else 1.0


def spread(count: int) -> Iterator[int]:
    """Yield every place once, spread out: the ends, the middle, the quarters."""
    yielded_places: set[int] = set()
    parts = 1
    while len(yielded_places) < count:
        for part in range(parts, -1, -1):
            place = part * (count - 1) // parts
            if place not in yielded_places:
                yielded_places.add(place)
                yield place
        parts *= 2


@dataclass(frozen=True, kw_only=True)
class Effort:
    """The probes, live calls and cost of a search."""

    probes: int
    calls: int
    cost: float


def effort(count: int, settings: Settings, turns_at: int, costs: Sequence[float]) -> Effort:
    """Simulate a search in which places up to `turns_at` pass (-1: none); `costs` are those of each step's answer."""
    tallies: dict[int, Tally] = {}
    repeats = Tally()
    probes = calls = 0
    cost = 0.0
    while (request := next_samples(Findings(count=count, repeats=repeats, places=tallies), settings)) is not None:
        place = request.place or 0
        if request.place is None:
            new = request.samples - repeats.clear
            repeats = Tally(failures=request.samples)
        else:
            is_passing, tally = place <= turns_at, tallies.get(place, Tally())
            new = 1 if is_passing and request.any_pass else request.samples - tally.clear
            tallies[place] = Tally(passes=tally.passes + new) if is_passing else Tally(failures=tally.failures + new)
        probes, calls, cost = probes + new, calls + new * (count - place), cost + new * sum(costs[place:])
    return Effort(probes=probes, calls=calls, cost=cost)


def _search(findings: Findings, settings: Settings) -> Iterator[SampleRequest]:
    """Samples that are worth drawing, the most informative first."""
    states = _states(findings, settings)
    if states[0] is State.OPEN:
        yield SampleRequest(place=0, samples=settings.samples)
    turning_point = turn(findings, settings)
    if turning_point is None:
        # The first place does not count.
        scan_count = sum(place_state is not State.OPEN for place_state in states) - 1
        yield from _open(states, settings) if scan_count < settings.scan else ()
        return
    last, after = turning_point.last, turning_point.after
    gap = [place for place in range(last + 1, after) if states[place] is State.OPEN]
    if gap:
        yield SampleRequest(place=gap[len(gap) // 2], samples=settings.samples)
    for place in (last - 1, after + 1):
        if 0 <= place < findings.count and states[place] is State.OPEN:
            yield SampleRequest(place=place, samples=settings.samples)
    if not turning_point.monotone:
        yield from _open(states, settings)
    for place in (last, after):
        if place < findings.count and not findings.at(place).is_complete(settings.confirm):
            yield SampleRequest(place=place, samples=settings.confirm, any_pass=False)


def _open(states: Sequence[State], settings: Settings) -> Iterator[SampleRequest]:
    for place in spread(len(states)):
        if states[place] is State.OPEN:
            yield SampleRequest(place=place, samples=settings.samples)


def _states(findings: Findings, settings: Settings) -> list[State]:
    return [state(findings.at(place), settings.samples) for place in range(findings.count)]


def _least_rate(tally: Tally) -> float:
    """The lower end of Wilson's interval for the pass rate."""
    return wilson(tally.passes, tally.clear)[0]
