"""The runs' inputs as a change: messages of any step that pass on a changed input, with nothing else changed. Pure.

base       input "Claim 900 francs."    request "Claim 900 francs. Terms: glass"
candidate  input "Claim 950 francs."    request "Claim 950 francs. Terms: glass"    passed on: no change of its own
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from diffing.content.message_diff import MessagePair
from diffing.sequences.word_hunks import hunks, is_repeated
from traces.payloads.step_summaries import one_line

# Shorter inputs occur in other texts by chance.
_MIN_CHARACTERS: Final = 8
# A label and what it introduces, as in "Customer: My bike is stolen."
_LABEL_LINE: Final = re.compile(r"^([^\W\d_][\w ]{0,30}): (.+)$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class RunInputs:
    """The inputs of paired agents and turns that differ: the text of the base and of the candidate, by place.

    `labels` introduce an input of the run in its first request, so they may introduce other texts from outside later.
    `turns`: the user's messages with which one run goes on after all that both runs did, by the model step's place.
    """

    texts: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    labels: frozenset[str] = frozenset()
    turns: Mapping[int, str] = field(default_factory=dict)

    def source_of(self, item: MessagePair) -> int | None:
        """The place of the input whose change is all that differs in a user's message; None if there is none."""
        places = (place for place, sides in self.texts.items() if item.role == "user" and _is_passed_on(sides, item))
        return next(places, None)

    def group(self, items: Iterable[MessagePair]) -> list[tuple[MessagePair, ...]]:
        """The messages that only pass on a changed input, by input."""
        groups: dict[int, list[MessagePair]] = {}
        for item in items:
            if (place := self.source_of(item)) is not None:
                groups.setdefault(place, []).append(item)
        return [tuple(group) for group in groups.values()]

    def common_source(self, items: Sequence[MessagePair]) -> int | None:
        """The input that is the source of all of these messages; None if they have none, or several."""
        places = {item.source if isinstance(item.source, int) else self.source_of(item) for item in items}
        return places.pop() if len(places) == 1 else None


def label_spans(text: str) -> dict[str, tuple[int, int]]:
    """Where the lines of a text are that begin with a label which no other line has, by label."""
    matches = list(_LABEL_LINE.finditer(text))
    counts = Counter(match.group(1) for match in matches)
    return {match.group(1): match.span(2) for match in matches if counts[match.group(1)] == 1}


def labels_of_inputs(requests: Iterable[str], inputs: Collection[str]) -> frozenset[str]:
    """The labels that introduce one of these inputs in the messages of a request."""
    lines = ((label, text[slice(*span)]) for text in requests for label, span in label_spans(text).items())
    return frozenset(label for label, line in lines if len(line) >= _MIN_CHARACTERS and one_line(line) in inputs)


def repeats_inputs(inputs: Iterable[tuple[str, str]], base: str, candidate: str) -> bool:
    """True if every difference of two texts repeats one of these inputs."""
    input_hunks = [hunk for sides in inputs for hunk in hunks(*sides)]
    own_hunks = hunks(base, candidate)
    return bool(own_hunks) and all(any(is_repeated(hunk, source) for source in input_hunks) for hunk in own_hunks)


def _is_passed_on(sides: tuple[str, str], item: MessagePair) -> bool:
    before, after = sides
    if min(len(before), len(after)) < _MIN_CHARACTERS or before not in item.base:
        return False
    return item.base.replace(before, after) == item.candidate


NO_INPUTS: Final = RunInputs()
