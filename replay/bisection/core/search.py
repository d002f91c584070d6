"""Which forks to try next, and what the tried ones say. Pure.

Places are the steps from which can be answered afresh, in order, from 0. What lies after the last of them is the
recording itself, which is known to fail. A place *passes* when any of its samples did: then the run was not
committed yet. Usually every place before one that passes does so too, and halving finds the last of them; where an
earlier one fails, the rest is scanned, as far as the budget goes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import comb, sqrt
from typing import Final, Literal

State = Literal["passes", "fails", "open", "unknown"]
Confidence = Literal["high", "medium", "low"]
_Z: Final = 1.96
_STRONG: Final = 0.01
_FAIR: Final = 0.05


@dataclass(frozen=True, kw_only=True)
class Tally:
    """Samples of one place. `assumed` of the passed and `doubtful` of the failed ones rest on a placeholder."""

    passed: int = 0
    failed: int = 0
    unclear: int = 0
    running: int = 0
    assumed: int = 0
    doubtful: int = 0

    @property
    def clear(self) -> int:
        return self.passed + self.failed

    @property
    def tries(self) -> int:
        return self.clear + self.unclear

    def spent(self, wanted: int) -> bool:
        """Whether there are enough clear samples, or it was tried in vain as often again."""
        return self.clear >= wanted or self.tries >= 2 * wanted


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How many samples the repeats, each tried place and the turn get; `scan`: how many places are tried in vain."""

    reproduce: int
    samples: int
    confirm: int
    scan: int
    changed: bool  # probes carry overrides, so that the repeats are not probes of the first place


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What is known so far of `count` places, and of whole repeats without overrides."""

    count: int
    repeats: Tally = field(default_factory=Tally)
    places: Mapping[int, Tally] = field(default_factory=dict)

    def at(self, place: int) -> Tally:
        return self.places.get(place, Tally())


@dataclass(frozen=True, kw_only=True)
class Want:
    """So many clear samples of a place; None: whole repeats. `any_pass`: one that passes is enough."""

    place: int | None
    samples: int
    any_pass: bool = True


@dataclass(frozen=True, kw_only=True)
class Turn:
    """The last place that passes, and the first one after it that fails (`count`: the recording)."""

    last: int
    after: int
    first: int
    monotone: bool
    settled: bool


def wanted(found: Findings, settings: Settings) -> Want | None:
    """What to try next; None when there is nothing more to find out."""
    repeats = found.repeats if settings.changed else found.at(0)
    if not repeats.spent(settings.reproduce):
        return Want(place=None if settings.changed else 0, samples=settings.reproduce, any_pass=False)
    if not repeats.clear:
        return None  # nothing works: the rest would not either
    return next(_search(found, settings), None)


def state(tally: Tally, samples: int) -> State:
    if tally.passed:
        return "passes"
    if not tally.spent(samples):
        return "open"
    return "fails" if tally.failed else "unknown"


def turn(found: Findings, settings: Settings) -> Turn | None:
    """Where it turns, as far as is known; None while no place is known to pass."""
    states = _states(found, settings)
    passing = [place for place, is_now in enumerate(states) if is_now == "passes"]
    if not passing:
        return None
    last = passing[-1]
    after = next((place for place in range(last + 1, found.count) if states[place] == "fails"), found.count)
    return Turn(
        last=last,
        after=after,
        first=passing[0],
        monotone="fails" not in states[:last],
        settled="open" not in states[last + 1 : after],
    )


def confidence(found: Findings, settings: Settings, at: Turn) -> Confidence:
    """How sure the turn is: by the samples on both sides of it. A placeholder or an exception costs a grade."""
    if not at.settled:
        return "low"
    before, after = found.at(at.last), found.at(at.after)
    if at.after == found.count:  # what comes after is the recording, and certain to fail
        grade = 2 if _least_rate(before) > 0.5 else 1 if before.passed > 1 else 0
    else:
        chance = by_chance(before, after)
        grade = 2 if chance < _STRONG else 1 if chance < _FAIR else 0
    guessed = before.assumed == before.passed or (after.failed > 0 and after.doubtful == after.failed)
    if guessed or not at.monotone:
        grade = min(grade, 1)
    grades: tuple[Confidence, ...] = ("low", "medium", "high")
    return grades[grade]


def by_chance(before: Tally, after: Tally) -> float:
    """How likely so unequal samples are if both places are alike (Fisher's exact test, one side)."""
    passed, total = before.passed + after.passed, before.clear + after.clear
    most = min(passed, before.clear)
    ways = sum(comb(before.clear, k) * comb(after.clear, passed - k) for k in range(before.passed, most + 1))
    return ways / comb(total, passed) if total else 1.0


def spread(count: int) -> Iterator[int]:
    """Every place once, each as far as can be from those before: the ends, the middle, the quarters."""
    told: set[int] = set()
    parts = 1
    while len(told) < count:
        for part in range(parts, -1, -1):
            place = part * (count - 1) // parts
            if place not in told:
                told.add(place)
                yield place
        parts *= 2


@dataclass(frozen=True, kw_only=True)
class Effort:
    """What a search takes."""

    probes: int
    calls: int
    cost: float


def effort(count: int, settings: Settings, turns_at: int, costs: Sequence[float]) -> Effort:
    """What it takes when places up to `turns_at` pass (-1: none does); `costs` are those of answering each step."""
    tallies: dict[int, Tally] = {}
    repeats = Tally()
    probes = calls = 0
    cost = 0.0
    while (want := wanted(Findings(count=count, repeats=repeats, places=tallies), settings)) is not None:
        place = want.place or 0
        if want.place is None:
            new = want.samples - repeats.clear
            repeats = Tally(failed=want.samples)
        else:
            passes, known = place <= turns_at, tallies.get(place, Tally())
            new = 1 if passes and want.any_pass else want.samples - known.clear
            tallies[place] = Tally(passed=known.passed + new) if passes else Tally(failed=known.failed + new)
        probes, calls, cost = probes + new, calls + new * (count - place), cost + new * sum(costs[place:])
    return Effort(probes=probes, calls=calls, cost=cost)


def _search(found: Findings, settings: Settings) -> Iterator[Want]:
    """What is worth trying, the most telling first."""
    states = _states(found, settings)
    if states[0] == "open":
        yield Want(place=0, samples=settings.samples)
    at = turn(found, settings)
    if at is None:
        tried = sum(is_now != "open" for is_now in states) - 1  # the first does not count
        yield from _open(states, settings) if tried < settings.scan else ()
        return
    between = [place for place in range(at.last + 1, at.after) if states[place] == "open"]
    if between:
        yield Want(place=between[len(between) // 2], samples=settings.samples)
    for place in (at.last - 1, at.after + 1):
        if 0 <= place < found.count and states[place] == "open":
            yield Want(place=place, samples=settings.samples)
    if not at.monotone:
        yield from _open(states, settings)
    for place in (at.last, at.after):
        if place < found.count and not found.at(place).spent(settings.confirm):
            yield Want(place=place, samples=settings.confirm, any_pass=False)


def _open(states: Sequence[State], settings: Settings) -> Iterator[Want]:
    for place in spread(len(states)):
        if states[place] == "open":
            yield Want(place=place, samples=settings.samples)


def _states(found: Findings, settings: Settings) -> list[State]:
    return [state(found.at(place), settings.samples) for place in range(found.count)]


def _least_rate(tally: Tally) -> float:
    """The lower end of Wilson's interval for the rate of passing."""
    n = tally.clear
    if not n:
        return 0.0
    rate, square = tally.passed / n, _Z * _Z
    middle = rate + square / (2 * n)
    return (middle - _Z * sqrt(rate * (1 - rate) / n + square / (4 * n * n))) / (1 + square / n)
