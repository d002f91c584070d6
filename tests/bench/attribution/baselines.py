"""Simpler methods for comparison: each blames one change and counts its replays."""

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
    """Blame by the diff's category priorities; ties within a category are random."""
    return Blame(atom=_first(bench.case.injections, rng).id)


def first_divergence(bench: Bench, rng: random.Random) -> Blame:
    """Blame the change at the first step that answers differently, or at the nearest step before it."""
    first = bench.first_divergence()
    changes = bench.case.injections
    before = {
        change.id: max((place for place in bench.places(change) if place <= first), default=-1) for change in changes
    }
    nearest = max(before.values())
    return Blame(atom=_first([change for change in changes if before[change.id] == nearest], rng).id)


def slice_and_priority(bench: Bench, rng: random.Random) -> Blame:
    """Keep only changes on a path to the answer, then blame by priority."""
    relevant = [injection for injection in bench.case.injections if not bench.live.isdisjoint(bench.places(injection))]
    return Blame(atom=_first(relevant or bench.case.injections, rng).id)


def ddmin(bench: Bench, rng: random.Random) -> Blame:
    """Run delta debugging as published, without a cache of attempts."""
    truth = bench.case.truth
    items, parts, replays = [injection.id for injection in bench.case.injections], 2, 0
    while len(items) > 1:
        smaller, attempts = _sufficient_part(truth, items, parts)
        replays += attempts
        if smaller is not None:
            parts = 2 if len(smaller) <= -(-len(items) // parts) else max(parts - 1, 2)
            items = smaller
        elif parts >= len(items):
            break
        else:
            parts = min(len(items), 2 * parts)
    return Blame(atom=items[0], replays=replays)


def shapley(bench: Bench, rng: random.Random) -> Blame:
    """Blame the change with the largest exact share. Needs every combination."""
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
    highest = min(PRIORITY.index(injection.category) for injection in injections)
    return rng.choice([injection for injection in injections if PRIORITY.index(injection.category) == highest])


def _sufficient_part(truth: Truth, items: list[str], parts: int) -> tuple[list[str] | None, int]:
    """Return a sufficient part, or complement of a part, and the number of attempts."""
    chunks = [items[part * len(items) // parts : (part + 1) * len(items) // parts] for part in range(parts)]
    rest = [[item for item in items if item not in chunk] for chunk in chunks] if parts > 2 else []
    for attempts, candidate in enumerate([*chunks, *rest], 1):
        if truth.is_sufficient(candidate):
            return candidate, attempts
    return None, len(chunks) + len(rest)
