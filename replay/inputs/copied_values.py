"""Values that code copies from outputs into texts, inferred from two recordings. Pure.

    base       a model says "Bern had 45 faults."    code writes "Basel: 43 / Bern: 45"
    candidate  a model says "Bern had 17 faults."    code writes "Basel: 31 / Bern: 17"
    replay     a model says "Bern had 75 faults."    what stood for 45 is 75 now

A single recording shows no more than two equal numbers, which may be chance. That both changed alike is hardly any.
"""

import json
from collections.abc import Sequence

from diffing.sequences.word_hunks import contains_words, hunks, share_word, split_words
from replay.core.graph import CopiedValue, Link
from replay.inputs.changes import Change
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepType


def text_of(type: StepType, output: JSONValue) -> str:
    """Text of an output that is searched for values."""
    message = output.get("message") if isinstance(output, dict) and type is StepType.MODEL else None
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False, sort_keys=True)


def copied_links(group: Sequence[tuple[Link, Change]]) -> list[tuple[Link, Change]]:
    return [(link, change) for link, change in group if link.copies]


def with_copies(text: str, group: Sequence[tuple[Link, Change]], missed: list[Link] | None) -> str:
    """Replace copied values in a recorded text; links without a known new value count as missed."""
    changes = {link.producer: change for link, change in group}
    for copied in sorted({each for link, _ in group for each in link.copies}, key=lambda each: -each.start):
        if text[copied.start : copied.end] != copied.own:
            # Another text stands here now
            continue
        values = {_value_now(copied, changes.get(rival)) for rival in copied.rivals}
        value = next(iter(values)) if len(values) == 1 else None
        if value is not None:
            text = text[: copied.start] + value + text[copied.end :]
        elif missed is not None:
            missed += [link for link, _ in group if copied in link.copies]
    return text


def _value_now(copied: CopiedValue, change: Change | None) -> str | None:
    """New value in the place of a copied one; None if ambiguous."""
    if change is None:
        return copied.own
    if not change.is_known:
        return None
    before, after = text_of(change.node.type, change.original), text_of(change.node.type, change.current)
    changed = [hunk for hunk in hunks(before, after) if hunk.base and share_word(copied.own, hunk.base)]
    if not changed:
        return copied.own if contains_words(copied.own, after) else None
    for hunk in changed:
        if contains_words(copied.other, hunk.candidate):
            return copied.other
        if split_words(hunk.base) == split_words(copied.own) and hunk.candidate:
            return hunk.candidate
    return None
