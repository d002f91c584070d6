"""Values that code copies from outputs into texts, inferred from two recordings. Pure.

    base       a model answers "Bern had 45 faults."    code writes "Basel: 43 / Bern: 45"
    candidate  a model answers "Bern had 17 faults."    code writes "Basel: 31 / Bern: 17"
    replay     a model answers "Bern had 75 faults."    the text then contains 75 in place of 45

A single recording shows only two equal numbers, which may be coincidence. Two that change alike are hardly coincidence.
"""

import json
from collections.abc import Sequence

from diffing.sequences.word_hunks import contains_words, hunks, share_word, split_words
from replay.core.graph import CopiedValue, Link
from replay.inputs.changes import Change
from traces.core.json_access import member
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepType


def text_of(type: StepType, output: JSONValue) -> str:
    """Text of an output that is searched for values."""
    content = member(output, "message", "content") if type is StepType.MODEL else None
    if isinstance(content, str):
        return content
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False, sort_keys=True)


def copied_links(group: Sequence[tuple[Link, Change]]) -> list[tuple[Link, Change]]:
    return [(link, change) for link, change in group if link.copies]


def with_copies(text: str, group: Sequence[tuple[Link, Change]], misses: list[Link] | None) -> str:
    """Replace copied values in a recorded text; links without a known new value count as missed."""
    changes = {link.producer: change for link, change in group}
    copies = {copy for link, _ in group for copy in link.copies}
    # From the end of the text, so that earlier positions stay valid.
    for copy in sorted(copies, key=lambda copy: -copy.start):
        if text[copy.start : copy.end] != copy.own:
            # The text has changed here.
            continue
        values = {_value_now(copy, changes.get(rival)) for rival in copy.rivals}
        value = next(iter(values)) if len(values) == 1 else None
        if value is not None:
            text = text[: copy.start] + value + text[copy.end :]
        elif misses is not None:
            misses += [link for link, _ in group if copy in link.copies]
    return text


def _value_now(copy: CopiedValue, change: Change | None) -> str | None:
    """New value in the place of a copied one; None if ambiguous."""
    if change is None:
        return copy.own
    if not change.is_known:
        return None
    before, after = text_of(change.node.type, change.original), text_of(change.node.type, change.current)
    hunks_of_value = [hunk for hunk in hunks(before, after) if hunk.base and share_word(copy.own, hunk.base)]
    if not hunks_of_value:
        return copy.own if contains_words(copy.own, after) else None
    for hunk in hunks_of_value:
        if contains_words(copy.other, hunk.candidate):
            return copy.other
        if split_words(hunk.base) == split_words(copy.own) and hunk.candidate:
            return hunk.candidate
    return None
