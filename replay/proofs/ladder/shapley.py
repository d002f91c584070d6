"""Shapley shares of each change in "the outcome is the candidate's", and interactions between changes. Pure."""

import random
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from math import factorial
from typing import Final

from diffing.schemas.evidence import Interaction
from replay.proofs.core.types import Atoms
from replay.proofs.ladder.facts import ProbeRequest, Space
from replay.proofs.ladder.search import Steps, subsets

# Up to this many changes, shares are computed from every combination.
MOST: Final = 6
# Permutations to sample, each with its reverse.
_PAIRS: Final = 6
_LEAST: Final = 1e-9


def known_values(space: Space, atoms: Sequence[str]) -> dict[Atoms, float] | None:
    """The value of every combination, 1 for the candidate's outcome; None if one is unknown."""
    values: dict[Atoms, float] = {}
    for subset in subsets(atoms):
        is_enough = space.is_enough(subset) if space.valid(subset) else False
        if is_enough is None:
            return None
        values[subset] = float(is_enough)
    return values


def exact(values: Mapping[Atoms, float], atoms: Sequence[str]) -> dict[str, float]:
    """The mean contribution of a change over every order in which the changes can be applied."""
    return {
        atom: sum(
            _weight(len(subset), len(atoms)) * (values[subset | {atom}] - values[subset])
            for subset in values
            if atom not in subset
        )
        for atom in atoms
    }


def interactions(values: Mapping[Atoms, float], atoms: Sequence[str]) -> list[Interaction]:
    """For every pair, the effect of both beyond that of each alone (Shapley interaction index), unless zero."""
    pairs = []
    for first, second in combinations(atoms, 2):
        value = sum(
            _weight(len(subset), len(atoms) - 1) * _joint_effect(values, subset, first, second)
            for subset in values
            if not subset & {first, second}
        )
        if abs(value) > _LEAST:
            pairs.append(Interaction(one=first, other=second, value=round(value, 6)))
    return pairs


def sample(space: Space, atoms: Sequence[str], seed: int) -> Steps[dict[str, float] | None]:
    """Estimate shares from permutations and their reverses, with free probes only; None if one needs more."""
    source = random.Random(seed)
    added: dict[str, list[float]] = {atom: [] for atom in atoms}
    for _ in range(_PAIRS):
        order = source.sample(list(atoms), len(atoms))
        for permutation in (order, order[::-1]):
            if not (yield from _add_contributions(space, permutation, added)):
                return None
    return {atom: sum(values) / len(values) for atom, values in added.items()}


def _add_contributions(space: Space, order: Sequence[str], added: Mapping[str, list[float]]) -> Steps[bool]:
    subset: Atoms = frozenset()
    before = 0.0
    for atom in order:
        subset |= {atom}
        if space.is_enough(subset) is None and space.valid(subset):
            yield ProbeRequest(spec=space.spec(subset, "base"), purpose="factorial", free=True)
        is_enough = space.is_enough(subset) if space.valid(subset) else False
        if is_enough is None:
            return False
        added[atom].append(float(is_enough) - before)
        before = float(is_enough)
    return True


def _joint_effect(values: Mapping[Atoms, float], subset: Atoms, first: str, second: str) -> float:
    value: Callable[[Atoms], float] = values.__getitem__
    return value(subset | {first, second}) - value(subset | {first}) - value(subset | {second}) + value(subset)


def _weight(before: int, count: int) -> float:
    return factorial(before) * factorial(count - before - 1) / factorial(count)
