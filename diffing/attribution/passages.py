"""Passages: the differences of one message by where they come from. Pure.

Code composes messages from several sources. A user's message may change in one passage, and an answer in another:

    base       "Claim R-7 from Oslo.\n- 2 NIGHTS 180"
    candidate  "Claim R-9 from Oslo.\n- 3 NIGHTS 240"      R-9: passed on from the run's input; the rest follows

A label that introduced the run's input introduces what is said later as well, unless earlier outputs contain its words:

    first request  "Memory: nothing\nCustomer: My bike is stolen."     the run's input
    base           "Memory: bike stolen\nCustomer: In May."
    candidate      "Memory: bike lost\nCustomer: I found it."          the customer said something else
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from diffing.attribution.run_inputs import RunInputs, label_spans
from diffing.content.message_diff import MessagePair
from diffing.sequences.word_hunks import (
    PHRASE,
    Hunk,
    contains_words,
    hunks,
    is_repeated,
    neighbours,
    split_words,
    with_hunks,
)


class Remark(NamedTuple):
    """What a label of the run's input introduces later, on both sides; it may respond to an earlier answer."""

    base: str
    candidate: str


# The place of a run's input, the key of a message, or a remark.
Source = int | tuple[str, str]
# Shorter words and numbers occur in any two texts.
_WORD: Final = re.compile(r"[^\W\d_]{4}|\d{3}|[^\W\d]\d|\d[^\W\d]")


@dataclass(frozen=True, kw_only=True)
class _OutsideText:
    """A text from outside on both sides, with its differences."""

    base: str
    candidate: str
    hunks: tuple[Hunk, ...]

    def has_in_context(self, hunk: Hunk, context: tuple[str, str]) -> bool:
        """Return whether a difference between the same words is one of this text."""
        return any(is_repeated(hunk, own) and neighbours(self.base, own.base_span) == context for own in self.hunks)

    def has(self, hunk: Hunk) -> bool:
        """Return whether a difference is one of this text, or part of one that the comparison divided otherwise."""
        if any(is_repeated(hunk, own) for own in self.hunks):
            return True
        sides = (hunk.base, self.base, self.candidate), (hunk.candidate, self.candidate, self.base)
        return all(not words or contains_words(words, own) for words, own, _ in sides) and any(
            words and not contains_words(words, opposite) for words, _, opposite in sides
        )


class OutsideTexts:
    """The texts from outside that differ, in the order in which they occur."""

    def __init__(self, inputs: RunInputs) -> None:
        self._texts: dict[Source, _OutsideText] = {place: _text(*sides) for place, sides in inputs.texts.items()}
        self._labels = inputs.labels

    def add(self, item: MessagePair) -> None:
        """Add a user's message that no earlier difference explains."""
        if item.role == "user" and item.op == "changed" and not item.passages:
            self._texts.setdefault(item.key, _text(item.base, item.candidate))

    def divide(
        self, item: MessagePair, follows: Callable[[Hunk], bool], is_known: Callable[[str, str], bool]
    ) -> list[MessagePair]:
        """The parts of a message's difference by source; the part without a source comes last.

        `follows`: a difference equals one of an earlier output, and so it may come from that. `is_known`: most words in
        which two texts differ occur in earlier outputs.
        """
        if item.role != "user" or item.op != "changed" or not (self._texts or self._labels):
            return [item]
        differences = hunks(item.base, item.candidate)
        remarks = self._remarks(item, is_known)
        sources = [self._source(item, hunk, follows, remarks) for hunk in differences]
        if not differences or set(sources) == {None}:
            return [item]
        if len(set(sources)) == 1:
            return [replace(item, source=sources[0])]
        parts = {
            source: [hunk for hunk, own in zip(differences, sources, strict=True) if own == source]
            for source in sources
        }
        return [
            replace(item, source=source, passages=tuple(part), candidate=with_hunks(item.base, part, item.candidate))
            for source, part in sorted(parts.items(), key=lambda entry: entry[0] is None)
        ]

    def source_of(self, hunk: Hunk) -> int | None:
        """The input of a run that a difference in a call of code repeats; None if there is none."""
        if not _is_distinctive(hunk):
            return None
        places = (place for place, text in self._texts.items() if isinstance(place, int) and text.has(hunk))
        return next(places, None)

    def _remarks(self, item: MessagePair, is_known: Callable[[str, str], bool]) -> dict[tuple[int, int], Source]:
        """The remarks that differ, or the outside texts that they repeat, by their places in the base."""
        sides = [label_spans(text) if self._labels else {} for text in (item.base, item.candidate)]
        remarks: dict[tuple[int, int], Source] = {}
        for label in sorted(self._labels & sides[0].keys() & sides[1].keys()):
            remark = Remark(item.base[slice(*sides[0][label])], item.candidate[slice(*sides[1][label])])
            if remark.base != remark.candidate and not is_known(*remark):
                sources = (source for source, text in self._texts.items() if (text.base, text.candidate) == remark)
                remarks[sides[0][label]] = next(sources, remark)
                self._texts.setdefault(remarks[sides[0][label]], _text(*remark))
        return remarks

    def _source(
        self,
        item: MessagePair,
        hunk: Hunk,
        follows: Callable[[Hunk], bool],
        remarks: Mapping[tuple[int, int], Source],
    ) -> Source | None:
        context = neighbours(item.base, hunk.base_span)
        for source, text in self._texts.items():
            if source != item.key and any(context) and text.has_in_context(hunk, context):
                return source
        sources = (source for source, text in self._texts.items() if source != item.key and text.has(hunk))
        origin = next(sources, None) if _is_distinctive(hunk) and not follows(hunk) else None
        return _remark_of(hunk, remarks) if origin is None else origin


def _remark_of(hunk: Hunk, remarks: Mapping[tuple[int, int], Source]) -> Source | None:
    """The remark that a difference belongs to."""
    start, end = hunk.base_span
    return next((remark for (first, last), remark in remarks.items() if first <= start and end <= last), None)


def _text(base: str, candidate: str) -> _OutsideText:
    return _OutsideText(base=base, candidate=candidate, hunks=tuple(hunks(base, candidate)))


def _is_distinctive(hunk: Hunk) -> bool:
    sides = hunk.base, hunk.candidate
    return all(not words or _WORD.search(words) or len(split_words(words)) >= PHRASE for words in sides)
