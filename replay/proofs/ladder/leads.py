"""Rank the changes while nothing is decided, from hints of probes that could not continue. Pure.

A probe that ends where only the agent's code knows the next step has still produced outputs. They are compared with
those of the two recordings at the same steps.

    base       "severity 20"    candidate  "severity 65"
    probe      "severity 60"    closer to the candidate's: the applied change leads there
    probe      "severity 15"    not on the way there

Further hints: the first of a list of scores, because code takes it; the last of calls that are repeated until code
accepts an answer; a call that failed on one side only; a number that recurs in what code made of it, or in the answer.

Hints order a list. They decide nothing, and no level of confidence rests on them.
"""

import re
from collections.abc import Sequence
from typing import Final

from replay.proofs.core.types import Atom, ProbeResult, Side, Stray, opposite
from replay.proofs.counterfactual.outcomes import distinguishing_words, position_between
from replay.proofs.ladder.facts import Space
from replay.proofs.ladder.noise_gate import sides

# The weight of a replay with an outcome: it is a fact, and outweighs any hint of one that could not continue.
_SETTLED_WEIGHT: Final = 2.0
# The weight against a change of a replay that assumes a step to be unaffected.
_ASSUMPTION_WEIGHT: Final = 0.5
# The weight for a call that failed on one side only.
_FAILURE_WEIGHT: Final = 2.5
# The weight for numbers that recur in what code made, or in the answer.
_ECHO_WEIGHT: Final = 1.5
# A label and its score, as in a list.
_SCORE: Final = re.compile(r"(?<!\S)([\w-]+): (-?\d+(?:\.\d+)?)(?!\S)")
# Fewer labels have no order to speak of.
_MIN_SCORES: Final = 2
_NUMBER: Final = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")


def weight(space: Space, atom: Atom) -> float:
    """How much speaks for a change, over both ways to try it alone: from 4 (enough and needed) to -4 (neither)."""
    alone = frozenset({atom.id})
    subset = space.with_required(alone)
    remainder = space.all - space.with_dependents(alone)
    weight_applied = _direction_weight(space, space.is_enough(subset), space.result(subset, "base"), "base")
    weight_reverted = _direction_weight(
        space, space.is_needed(alone), space.result(remainder, "candidate"), "candidate"
    )
    total = weight_applied + weight_reverted
    if space.is_enough(subset) is not None or space.is_needed(alone) is not None:
        return total
    # Nothing shows what the code does after a failed call, but it rarely goes on as if it had succeeded.
    return total + _FAILURE_WEIGHT * atom.fails + _ECHO_WEIGHT * atom.echoes


def rests_on_code(space: Space, atom: Atom) -> bool:
    """Return whether a replay of a change alone assumes that the agent's code does what it did in the other run."""
    alone = frozenset({atom.id})
    results = (
        space.result(space.with_required(alone), "base"),
        space.result(space.all - space.with_dependents(alone), "candidate"),
    )
    return any(result is not None and result.is_settled and result.derived for result in results)


def moved_texts(space: Space, atom: Atom, *, whole: bool = False) -> list[tuple[str, str]]:
    """What a change alone makes of the outputs after which only code knows the next step.

    `whole`: only of those that become the other run's, and of which no repeat shows that they vary by themselves.
    """
    alone = frozenset({atom.id})
    apply_result = space.result(space.with_required(alone), "base")
    revert_result = space.result(space.all - space.with_dependents(alone), "candidate")
    forward = ((stray, (stray.base, stray.text)) for stray in (apply_result.strays if apply_result else ()))
    back = ((stray, (stray.text, stray.candidate)) for stray in (revert_result.strays if revert_result else ()))
    return [
        texts
        for stray, texts in (*forward, *back)
        if not stray.is_wording
        and not (whole and (texts != (stray.base, stray.candidate) or _is_repeated(space, stray)))
    ]


def _direction_weight(space: Space, holds: bool | None, result: ProbeResult | None, side: Side) -> float:
    if holds is not None:
        return _SETTLED_WEIGHT if holds else -_SETTLED_WEIGHT
    if result is None:
        return 0.0
    if result.is_settled:
        return -_ASSUMPTION_WEIGHT if result.outcome == side else 0.0
    return leaning(space, result.strays, side)


def leaning(space: Space, strays: Sequence[Stray], side: Side) -> float:
    """How far outputs moved from those of a side towards the other's: from 1 (all the way) to -1 (not at all)."""
    strays = [stray for stray in strays if not stray.is_wording]
    if not strays:
        return 0.0
    if all(stray.base == stray.candidate for stray in strays):
        # Calls that were repeated until both runs had the same answer.
        return -_ASSUMPTION_WEIGHT
    sign = 1 if opposite(side) == "candidate" else -1
    return sign * sum(_position(space, stray, side) for stray in strays) / len(strays)


def _position(space: Space, stray: Stray, side: Side) -> float:
    """The position of an output between the base's at -1 and the candidate's at 1.

    If numbers and words distinguish the two outputs, code may read either, and both count. Where repeats show that the
    words vary by themselves, numbers count alone.
    """
    texts = stray.text, stray.base, stray.candidate
    base, candidate = _repeat_outputs(space, stray)
    # An output that is worded differently each time equals a recorded one by chance only.
    if stray.text in texts[1:] and not _is_repeated(space, stray):
        return 1.0 if stray.text == stray.candidate else -1.0
    leaders = [_leader(text) for text in texts]
    if all(leaders) and leaders[1] != leaders[2] and leaders[0] in leaders[1:]:
        return 1.0 if leaders[0] == leaders[2] else -1.0
    numbers = [_NUMBER.findall(text) for text in texts]
    if len({len(matches) for matches in numbers}) > 1 or numbers[1] == numbers[2]:
        return position_between(stray.text, base, candidate)
    positions = [_number_position(*row) for row in zip(*numbers, strict=True) if row[1] != row[2]]
    by_numbers = sum(positions) / len(positions)
    text, *words = (_NUMBER.sub("", text) for text in texts)
    if len(base) + len(candidate) > 2 or not distinguishing_words(words[:1], words[1:]):
        return by_numbers
    return (by_numbers + position_between(text, words[:1], words[1:])) / 2


def _leader(text: str) -> str:
    """The label with the largest number in a text of scores, the first of several; empty if it is none."""
    scores = _SCORE.findall(text)
    labels = [label for label, _ in scores]
    if len(scores) < _MIN_SCORES or len({*labels}) < len(labels):
        return ""
    return str(max(scores, key=lambda score: float(score[1]))[0]).casefold()


def _repeat_outputs(space: Space, stray: Stray) -> tuple[list[str], list[str]]:
    """The outputs of unchanged repeats of both runs at that step, with the recorded ones."""
    texts = [stray.base], [stray.candidate]
    for repeats, outputs in zip(sides(space), texts, strict=True):
        samples = (sample for result in repeats.all() for sample in result.strays)
        outputs += [
            sample.text for sample in samples if (sample.base, sample.candidate) == (stray.base, stray.candidate)
        ]
    return texts


def _is_repeated(space: Space, stray: Stray) -> bool:
    """Return whether unchanged repeats of a run have an output at that step, which may vary by itself."""
    return any(len(texts) > 1 for texts in _repeat_outputs(space, stray))


def _number_position(number: str, base: str, candidate: str) -> float:
    """The position of a number between two others, clamped to their range."""
    value, low, high = (float(text.replace(",", "")) for text in (number, base, candidate))
    return max(-1.0, min(1.0, 2 * (value - low) / (high - low) - 1)) if low != high else 0.0
