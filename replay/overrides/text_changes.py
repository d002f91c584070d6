"""The differences of two texts as short phrases: added words, removed words, or `old → new`. Pure."""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Final

from diffing.sequences.text_diff import Span, normalise, shorten, word_diff

# Characters of a quotation; each side of a replacement gets half.
QUOTE: Final = 80
# With more separate differences, a text counts as rewritten.
_MAX_HUNKS: Final = 6
# Longer texts are not compared word by word.
_MAX_LENGTH: Final = 100_000
# The share of a text that must remain for single differences to describe the change.
_MIN_COMMON: Final = 0.4
_ENDS: Final = ".!?,;: \n\t"
Redact = Callable[[str], str]


def text_changes(base: str, candidate: str, redact: Redact) -> list[str]:
    """Describe every difference of two texts; a text that is new, removed or rewritten is one change."""
    base, candidate = normalise(base), normalise(candidate)
    if base == candidate:
        return []
    if not candidate.strip():
        return ["removed"]
    if not base.strip():
        return [f"+ {quote(candidate, redact)}"]
    if max(len(base), len(candidate)) > _MAX_LENGTH:
        return [f"rewritten: {quote(candidate, redact)}"]
    spans = word_diff(base, candidate)
    hunks = [list(group) for is_equal, group in groupby(spans, lambda span: span.op == "equal") if not is_equal]
    common = sum(len(span.text) for span in spans if span.op == "equal")
    phrases = [phrase for hunk in hunks if (phrase := _hunk_phrase(hunk, redact))]
    is_replaced = common < _MIN_COMMON * len(base) and any(span.op == "delete" for span in spans)
    if len(hunks) > _MAX_HUNKS or not phrases or (is_replaced and len(base) > QUOTE):
        return [f"rewritten: {quote(candidate, redact)}"]
    return phrases


def quote(text: str, redact: Redact, length: int = QUOTE) -> str:
    """Quote the beginning of a text in one line."""
    return f"“{shorten(redact(text.strip()), length)}”"


def _hunk_phrase(hunk: Sequence[Span], redact: Redact) -> str:
    """Describe one difference; empty if only spaces differ."""
    # A sentence after another may begin with the full stop of that one.
    removed, added = (
        "".join(span.text for span in hunk if span.op == op).lstrip(_ENDS).rstrip() for op in ("delete", "insert")
    )
    if removed and added:
        return f"{quote(removed, redact, QUOTE // 2)} → {quote(added, redact, QUOTE // 2)}"
    if added:
        return f"+ {quote(added, redact)}"
    return f"− {quote(removed, redact)}" if removed else ""
