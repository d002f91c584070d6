"""Which changes to look at first while nothing is decided: the hints of probes that could not go on. Pure.

A probe that ends where only the agent's code knows what comes next has still come to something: the outputs before
that. Those of the two recordings stand beside them.

    base       "severity 20"    candidate  "severity 65"
    probe      "severity 60"    more like the candidate's: the change that was applied leads there
    probe      "severity 15"    not on the way there at all

Hints order a list. They decide nothing, and no level of confidence rests on them.
"""

import re
from collections.abc import Sequence
from typing import Final

from replay.proofs.core.types import Atom, Seen, Side, Stray, other
from replay.proofs.counterfactual.outcomes import between
from replay.proofs.ladder.facts import Space
from replay.proofs.ladder.noise_gate import sides

_ASSUMED: Final = 0.5  # what a replay that takes a step to be unaffected says against a change
_NUMBER: Final = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")


def weight(space: Space, atom: Atom) -> float:
    """How much speaks for a change, of both ways to try it alone: from 2, enough and needed, down to -2, neither."""
    alone = frozenset({atom.id})
    applied = space.with_required(alone)
    reverted = space.all - space.with_dependents(alone)
    made = _way(space, space.enough(applied), space.seen(applied, "base"), "base")
    return made + _way(space, space.needed(alone), space.seen(reverted, "candidate"), "candidate")


def _way(space: Space, known: bool | None, seen: Seen | None, side: Side) -> float:
    if known:
        return 1.0
    if known is not None:
        return -1.0
    if seen is None:
        return 0.0
    if seen.settled:
        return -_ASSUMED if seen.outcome == side else 0.0
    return leaning(space, seen.strays, side)


def leaning(space: Space, strays: Sequence[Stray], side: Side) -> float:
    """How far outputs are from those of a side on the way to the other's: 1, all of it, to -1, none."""
    if not strays:
        return 0.0
    towards = 1 if other(side) == "candidate" else -1
    return towards * sum(_between(space, stray, side) for stray in strays) / len(strays)


def _between(space: Space, stray: Stray, side: Side) -> float:
    """Where an output lies between the base's at -1 and the candidate's at 1."""
    texts = stray.text, stray.base, stray.candidate
    if stray.text in texts[1:]:
        return 1.0 if stray.text == stray.candidate else -1.0
    numbers = [_NUMBER.findall(text) for text in texts]
    if len({len(each) for each in numbers}) == 1 and numbers[1] != numbers[2]:
        places = [_place(*each) for each in zip(*numbers, strict=True) if each[1] != each[2]]
        return sum(places) / len(places)
    base, candidate = _repeated(space, stray)
    return between(stray.text, base, candidate)


def _repeated(space: Space, stray: Stray) -> tuple[list[str], list[str]]:
    """What unchanged repeats of both runs gave there, with the recorded outputs."""
    texts = [stray.base], [stray.candidate]
    for repeats, known in zip(sides(space), texts, strict=True):
        drawn = (each for seen in repeats.all() for each in seen.strays)
        known += [each.text for each in drawn if (each.base, each.candidate) == (stray.base, stray.candidate)]
    return texts


def _place(number: str, base: str, candidate: str) -> float:
    """Where a number lies between two others, no further than at their places."""
    value, low, high = (float(each.replace(",", "")) for each in (number, base, candidate))
    return max(-1.0, min(1.0, 2 * (value - low) / (high - low) - 1)) if low != high else 0.0
