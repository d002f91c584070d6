"""What simpler methods would blame: each answers with one change, and says how many replays it took."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from diffing.attribution.reasoning import PRIORITY
from tests.bench.attribution.lab import Bench
from tests.bench.attribution.truth import Injection, Truth


@dataclass(frozen=True, kw_only=True)
class Blame:
    atom: str
    replays: int = 0


Baseline = Callable[[Bench, random.Random], Blame]


def at_random(bench: Bench, rng: random.Random) -> Blame:
    return Blame(atom=rng.choice(list(bench.case.by_id)))


def by_priority(bench: Bench, rng: random.Random) -> Blame:
    """The order of the replay-fork-diff document; one of a category is as good as another."""
    return Blame(atom=_first(bench.case.injections, rng).id)


def first_divergence(bench: Bench, rng: random.Random) -> Blame:
    """What acts on the first step that answers differently; else on the nearest step before it."""
    first = bench.first_divergence()
    changes = bench.case.injections
    before = {each.id: max((at for at in bench.places(each) if at <= first), default=-1) for each in changes}
    nearest = max(before.values())
    return Blame(atom=_first([each for each in changes if before[each.id] == nearest], rng).id)


def slice_and_priority(bench: Bench, rng: random.Random) -> Blame:
    """Only what lies on the way to the answer, then the order."""
    on_it = [each for each in bench.case.injections if not bench.live.isdisjoint(bench.places(each))]
    return Blame(atom=_first(on_it or bench.case.injections, rng).id)


def ddmin(bench: Bench, rng: random.Random) -> Blame:
    """Delta debugging as published, without remembering what was tried."""
    truth = bench.case.truth
    items, parts, replays = [each.id for each in bench.case.injections], 2, 0
    while len(items) > 1:
        smaller, tried = _smaller(truth, items, parts)
        replays += tried
        if smaller is not None:
            parts = 2 if len(smaller) <= -(-len(items) // parts) else max(parts - 1, 2)
            items = smaller
        elif parts >= len(items):
            break
        else:
            parts = min(len(items), 2 * parts)
    return Blame(atom=items[0], replays=replays)


def shapley(bench: Bench, rng: random.Random) -> Blame:
    """The largest exact share, at the price of every combination."""
    shares = bench.case.truth.shapley()
    names = list(bench.case.by_id)
    best = max(names, key=lambda name: shares.get(name, 0.0))
    return Blame(atom=best, replays=2 ** len(names))


BASELINES: Final[dict[str, Baseline]] = {
    "random": at_random,
    "priority order": by_priority,
    "first divergence": first_divergence,
    "slice + priority": slice_and_priority,
    "ddmin, no cache": ddmin,
    "exact Shapley": shapley,
}


def _first(injections: Sequence[Injection], rng: random.Random) -> Injection:
    highest = min(PRIORITY.index(each.category) for each in injections)
    return rng.choice([each for each in injections if PRIORITY.index(each.category) == highest])


def _smaller(truth: Truth, items: list[str], parts: int) -> tuple[list[str] | None, int]:
    """A part, or all but one part, that is still enough; and how many were tried."""
    chunks = [items[at * len(items) // parts : (at + 1) * len(items) // parts] for at in range(parts)]
    rest = [[item for item in items if item not in chunk] for chunk in chunks] if parts > 2 else []
    for tried, candidate in enumerate([*chunks, *rest], 1):
        if truth.enough(candidate):
            return candidate, tried
    return None, len(chunks) + len(rest)
