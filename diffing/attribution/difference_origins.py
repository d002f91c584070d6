"""Origins of differences: what came from outside, and what may follow from an earlier changed output. Pure.

Recorded data flow shows most of what a step was given by earlier ones. It does not show what the agent's own code made
of an answer: a word that chose the next prompt, a number that was looked up in a table. So a difference that no
recorded flow explains is exogenous for certain only where no output before it differs:

    step 2  model "router"      answered "billing", now "technical"     <- its prompt changed: exogenous
    step 3  model "specialist"  was given another message               <- derived until shown otherwise
    step 4  model "specialist"  was given another reply of the user     <- open: a person may have written it anyway
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from diffing.compare.comparison import Comparison, Pair
from diffing.compare.data_flow import Flow
from diffing.sequences.word_hunks import Hunk, hunks, is_repeated
from traces.core.vocabulary import StepType

_NOWHERE: Final = -1
_WORLD: Final = frozenset({StepType.TOOL, StepType.RETRIEVAL})
_WORD: Final = re.compile(r"[^\W\d_]{4,}|\d[\d.,:-]*\d")  # shorter ones stand in any two texts


class Origin(StrEnum):
    """How a difference relates to the changed outputs before it."""

    EXOGENOUS = "exogenous"  # nothing before it differs
    OPEN = "open"  # set from outside, or a response to what differs before it
    DERIVED = "derived"  # made by the agent's code from what differs before it, until shown otherwise


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """Content of unexplained origin in a step: outputs before these sequence numbers may have gone into it."""

    base: int = _NOWHERE
    candidate: int = _NOWHERE


@dataclass(frozen=True, kw_only=True, slots=True)
class _Output:
    """An output that differs, with the telling words that only one side has, and every word that differs."""

    pair: Pair
    base: set[str]
    candidate: set[str]
    hunks: Sequence[Hunk]


class Words:
    """The words in which outputs differ, by side, to tell what takes them up."""

    def __init__(self) -> None:
        self._outputs: list[_Output] = []

    def add(self, pair: Pair, base: str, candidate: str) -> None:
        """Add an output with both of its texts."""
        gone, come = _apart(base, candidate)
        self._outputs.append(_Output(pair=pair, base=gone, candidate=come, hunks=hunks(base, candidate)))

    def taken_up(self, pair: Pair, base: str, candidate: str) -> bool:
        """Whether the words in which a step's texts differ are mostly words in which outputs before it do.

        Either each difference is the same as one between outputs, however short, or most of the telling words are.
        """
        before = self._before(pair)
        if not before:
            return False
        copies = _copies(before, base, candidate)
        if copies and all(copies):
            return True
        gone, come = _apart(base, candidate)
        outputs = (
            set[str]().union(*(each.base for each in before)),
            set[str]().union(*(each.candidate for each in before)),
        )
        sides = [(words, other) for words, other in zip((gone, come), outputs, strict=True) if words]
        return bool(sides) and all(2 * len(words & other) >= len(words) for words, other in sides)

    def explain(self, pair: Pair, base: str, candidate: str, of: Collection[int] | None = None) -> bool:
        """Whether every difference between a step's texts is the same as one between outputs before it, `of` places."""
        before = [each for each in self._before(pair) if of is None or each.pair.place in of]
        return all(_copies(before, base, candidate))

    def has_copies(self, pair: Pair, base: str, candidate: str) -> bool:
        """Whether some of the differences between a step's texts are the same as between outputs before it."""
        return any(_copies(self._before(pair), base, candidate))

    def _before(self, pair: Pair) -> list[_Output]:
        return [each for each in self._outputs if _is_before(_first([each.pair]), pair)]


def _copies(outputs: Sequence[_Output], base: str, candidate: str) -> list[bool]:
    """Of each difference between two texts, whether it is one between two outputs."""
    known = [other for each in outputs for other in each.hunks]
    return [any(is_repeated(one, other) for other in known) for one in hunks(base, candidate)]


def _apart(base: str, candidate: str) -> tuple[set[str], set[str]]:
    """The telling words of each text that the other one lacks."""
    one, other = ({*_WORD.findall(text.casefold())} for text in (base, candidate))
    return one - other, other - one


class ChangedOutputs:
    """The outputs that differ, in order of the steps that gave them."""

    def __init__(self, comparison: Comparison) -> None:
        self.pairs: Sequence[Pair] = [
            pair for pair in comparison.acting if pair.answers_differently and pair.step.type != StepType.OUTPUT
        ]
        self._first = _first(self.pairs)
        self._first_of_both = _first([pair for pair in self.pairs if pair.sides or pair.step.type == StepType.MODEL])
        calls = [pair for pair in comparison.acting if pair.step.type in _WORLD and _calls_differently(pair)]
        self._first_of_calls = _first(calls)
        self._first_of_models = _first([pair for pair in self.pairs if pair.step.type == StepType.MODEL])

    def precede(self, pair: Pair) -> bool:
        """Whether any of them was given before this step, on either side.

        Of two steps in a row that only one run has, the first is no reason for the second.
        """
        return _is_before(self._first if pair.sides else self._first_of_both, pair)

    def calls_precede(self, pair: Pair) -> bool:
        """Whether a tool or a retriever was called otherwise before this step."""
        return _is_before(self._first_of_calls, pair)

    def models_precede(self, pair: Pair) -> bool:
        """Whether a model's answer that differs was given before this step."""
        return _is_before(self._first_of_models, pair)


def _calls_differently(pair: Pair) -> bool:
    return pair.sides is None or "input" in pair.changes


def _first(pairs: Sequence[Pair]) -> Entry:
    """The first of the steps, by side."""
    base = min((pair.base.sequence_no for pair in pairs if pair.base), default=_NOWHERE)
    candidate = min((pair.candidate.sequence_no for pair in pairs if pair.candidate), default=_NOWHERE)
    return Entry(base=base, candidate=candidate)


def _is_before(first: Entry, pair: Pair) -> bool:
    return _takes(entry_of(pair), first)


def entry_of(pair: Pair) -> Entry:
    """Everything before the step may have gone into it."""
    numbers = [step.sequence_no if step is not None else _NOWHERE for step in (pair.base, pair.candidate)]
    return Entry(base=numbers[0], candidate=numbers[1])


class Reach:
    """Where a change may have come: over recorded data flow, and through what the agent's code may have made of it."""

    def __init__(self, comparison: Comparison, flow: Flow, entries: Mapping[int, Entry]) -> None:
        self._pairs, self._flow, self._entries = comparison.pairs, flow, entries
        self._changed = ChangedOutputs(comparison)

    def after(self, places: Collection[int]) -> set[int]:
        """Every place that a change at `places` may have come to."""
        reached = set(self._flow.after(places))
        while True:
            first = self._earliest({*reached, *places})
            new = {place for place, entry in self._entries.items() if _takes(entry, first)} - reached - {*places}
            if not new:
                return reached
            reached |= new | self._flow.after(new)

    def before(self, place: int) -> set[int]:
        """The places from which a change may have come to `place`."""
        found = set(self._flow.before(place))
        while True:
            last = self._latest({*found, place})
            new = {pair.place for pair in self._changed.pairs if _goes(pair, last)} - found - {place}
            if not new:
                return found
            for each in new:
                found |= {each} | self._flow.before(each)

    def _earliest(self, places: Collection[int]) -> Entry:
        """The first changed outputs at these places, by side."""
        return _first([self._pairs[place] for place in places if self._pairs[place].answers_differently])

    def _latest(self, places: Collection[int]) -> Entry:
        """The last outputs that may have gone into these places, by side."""
        entries = [self._entries[place] for place in places if place in self._entries]
        return Entry(
            base=max((entry.base for entry in entries), default=_NOWHERE),
            candidate=max((entry.candidate for entry in entries), default=_NOWHERE),
        )


def _takes(entry: Entry, first: Entry) -> bool:
    return _NOWHERE < first.base < entry.base or _NOWHERE < first.candidate < entry.candidate


def _goes(pair: Pair, last: Entry) -> bool:
    base, candidate = (step.sequence_no if step is not None else None for step in (pair.base, pair.candidate))
    return (base is not None and base < last.base) or (candidate is not None and candidate < last.candidate)
