"""Echoes: numbers or words of a change that recur in what the agent's code made, or in the final answer. Pure.

    tool    "climb_ft": 4100 -> 2300        code    "a climb of 1,250 m" -> "a climb of 701 m"    the same ratio
    tool    "days": 14 -> 30                code    "due 2026-03-17" -> "due 2026-04-02"          the same difference
    tool    "extra": 24.50 -> 18.20         answer  "you get 20.00" -> "you get 18.20"            the same number
    prompt  its call: "fixed" -> "escalate" answer  "T13: fixed" -> "T13: escalate"               the same word

An echo orders changes that no replay could decide between. It is no evidence: texts may agree by chance.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date
from typing import Final

from diffing.attribution.difference_origins import Origin, distinct_words
from diffing.attribution.unexplained_changes import Atom as Root
from diffing.compare.comparison import Pair
from replay.proofs.changes.atoms import Change
from replay.proofs.changes.overrides import RunPair
from traces.core.json_access import text_or_json

_DATE: Final = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_NUMBER: Final = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?![\w]|\.\d)")
# With more numbers that differ, some ratio agrees by chance.
_MOST: Final = 4
# Rounding changes a ratio by less than this.
_TOLERANCE: Final = 0.01
# Smaller differences, as of list numbers, agree by chance.
_LEAST_DIFFERENCE: Final = 2.0
# A number of the base and one of the candidate.
Move = tuple[float, float]
# A text of the base and one of the candidate.
Texts = tuple[str, str]


def with_echoes(changes: Iterable[tuple[Root, Change]], runs: RunPair) -> list[Change]:
    """Mark the changes whose numbers moved like some number in a difference that code derived, or recur in an answer.

    Words that a change removed or added recur in an answer if they are at least half of those that differ in it.
    """
    rows = list(changes)
    derived = [move for root, _ in rows if root.origin is Origin.DERIVED for move in _moves(root)]
    final = runs.examination.comparison.final
    answers = _outputs(runs, final) if final is not None else ("", "")
    removed, added = _differing_numbers(*answers)

    def is_echo(move: Move) -> bool:
        return any(_is_echo(move, other) for other in derived) or _recurs(move[0], removed) or _recurs(move[1], added)

    return [
        replace(change, atom=replace(change.atom, echoes=True))
        if change.atom.testable and (any(map(is_echo, _moves(root))) or _has_words_of(answers, runs, root))
        else change
        for root, change in rows
    ]


def _has_words_of(answers: Texts, runs: RunPair, root: Root) -> bool:
    """Return whether at least half of the words that only one answer has are words that only this side's change has."""
    words = [distinct_words(*texts) for texts in (*_texts(root), *_direct_outputs(runs, root))]
    own = (set[str]().union(*(base for base, _ in words)), set[str]().union(*(candidate for _, candidate in words)))
    sides = zip(distinct_words(*answers), own, strict=True)
    return any(words and 2 * len(words & own_words) >= len(words) for words, own_words in sides)


def _direct_outputs(runs: RunPair, root: Root) -> Iterator[Texts]:
    """The outputs of the steps whose requests differ by this change alone, and of those that only one run has."""
    for place in root.places:
        facets = runs.examination.loaded_pairs.facets.get(place, ())
        if runs.pairs[place].sides is None or sum(facet.part != "output" for facet in facets) == 1:
            yield _outputs(runs, runs.pairs[place])


def _outputs(runs: RunPair, pair: Pair) -> Texts:
    base, candidate = runs.outputs(pair)
    return text_or_json(base), text_or_json(candidate)


def _moves(root: Root) -> list[Move]:
    """The numbers that differ between the texts of a change, each with its possible counterparts."""
    return [move for texts in _texts(root) for move in number_moves(*texts)]


def _texts(root: Root) -> list[Texts]:
    """The texts of a change."""
    facet = root.facet
    if facet is None:
        return []
    texts = [(item.base, item.candidate) for item in facet.messages]
    return texts or [(text_or_json(facet.base), text_or_json(facet.candidate))]


def number_moves(base: str, candidate: str) -> list[Move]:
    """Pair the numbers that only one of two texts has; none if there are too many of them."""
    removed, added = _differing_numbers(base, candidate)
    return [(old, new) for old in removed for new in added] if max(len(removed), len(added)) <= _MOST else []


def _differing_numbers(base: str, candidate: str) -> tuple[list[float], list[float]]:
    """The numbers that only the base's text has, and those that only the candidate's has."""
    before, after = Counter(_numbers(base)), Counter(_numbers(candidate))
    return list((before - after).elements()), list((after - before).elements())


def _numbers(text: str) -> Sequence[float]:
    """The numbers of a text, dates as their number of days."""
    numbers: list[float] = []
    for year, month, day in _DATE.findall(text):
        with suppress(ValueError):
            numbers.append(float(date(int(year), int(month), int(day)).toordinal()))
    return numbers + [float(number.replace(",", "")) for number in _NUMBER.findall(_DATE.sub(" ", text))]


def _recurs(number: float, numbers: Sequence[float]) -> bool:
    """Return whether a number occurs among others; one digit alone is no trace of anything."""
    return number in numbers and len(f"{number:g}") > 1


def _is_echo(move: Move, other: Move) -> bool:
    """Return whether two numbers moved alike: by the same ratio, or by the same difference."""
    (old, new), (other_old, other_new) = move, other
    difference = new - old
    if abs(difference) >= _LEAST_DIFFERENCE and abs(difference - (other_new - other_old)) <= _TOLERANCE:
        return True
    if not all((old, new, other_old, other_new)):
        return False
    ratio = new / old
    return abs(other_new / other_old - ratio) <= _TOLERANCE * ratio
