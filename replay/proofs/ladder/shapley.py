"""How much each change has to do with it: Shapley shares of "is the candidate's outcome", and interactions. Pure."""

import random
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from math import factorial
from typing import Final

from diffing.schemas.evidence import Interaction
from replay.proofs.core.types import Atoms
from replay.proofs.ladder.facts import Asked, Space
from replay.proofs.ladder.search import Steps, subsets

MOST: Final = 6  # changes whose every combination is looked at
_PAIRS: Final = 6  # permutations, each with its reverse
_LEAST: Final = 1e-9


def known_values(space: Space, atoms: Sequence[str]) -> dict[Atoms, float] | None:
    """The outcome of every combination, 1 for the candidate's; None where one is not known."""
    values: dict[Atoms, float] = {}
    for applied in subsets(atoms):
        known = space.enough(applied) if space.valid(applied) else False
        if known is None:
            return None
        values[applied] = float(known)
    return values


def exact(values: Mapping[Atoms, float], atoms: Sequence[str]) -> dict[str, float]:
    """The mean of what a change adds, over every order in which the changes could be made."""
    return {
        atom: sum(
            _weight(len(applied), len(atoms)) * (values[applied | {atom}] - values[applied])
            for applied in values
            if atom not in applied
        )
        for atom in atoms
    }


def interactions(values: Mapping[Atoms, float], atoms: Sequence[str]) -> list[Interaction]:
    """For every pair, what both together add beyond each alone (Shapley interaction index), where it is not nothing."""
    found = []
    for one, other in combinations(atoms, 2):
        value = sum(
            _weight(len(applied), len(atoms) - 1) * _both(values, applied, one, other)
            for applied in values
            if not applied & {one, other}
        )
        if abs(value) > _LEAST:
            found.append(Interaction(one=one, other=other, value=round(value, 6)))
    return found


def sample(space: Space, atoms: Sequence[str], seed: int) -> Steps[dict[str, float] | None]:
    """Shares from permutations and their reverses, with free probes only; None where one cannot be had so."""
    source = random.Random(seed)
    added: dict[str, list[float]] = {atom: [] for atom in atoms}
    for _ in range(_PAIRS):
        order = source.sample(list(atoms), len(atoms))
        for chosen in (order, order[::-1]):
            if not (yield from _along(space, chosen, added)):
                return None
    return {atom: sum(values) / len(values) for atom, values in added.items()}


def _along(space: Space, order: Sequence[str], added: Mapping[str, list[float]]) -> Steps[bool]:
    applied: Atoms = frozenset()
    before = 0.0
    for atom in order:
        applied |= {atom}
        if space.enough(applied) is None and space.valid(applied):
            yield Asked(ask=space.ask(applied, "base"), purpose="factorial", free=True)
        known = space.enough(applied) if space.valid(applied) else False
        if known is None:
            return False
        added[atom].append(float(known) - before)
        before = float(known)
    return True


def _both(values: Mapping[Atoms, float], applied: Atoms, one: str, other: str) -> float:
    value: Callable[[Atoms], float] = values.__getitem__
    return value(applied | {one, other}) - value(applied | {one}) - value(applied | {other}) + value(applied)


def _weight(before: int, count: int) -> float:
    return factorial(before) * factorial(count - before - 1) / factorial(count)
