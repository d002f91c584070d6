"""Word-level comparison of texts, for reading.

Texts are normalised first (Unicode NFC, line ends, spaces at line ends and runs of spaces inside a line), so that
invisible differences do not count. Swapping the texts swaps the result.
"""

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from rapidfuzz.distance import LCSseq

# Characters of one text that are compared; a report names the rest as not compared.
LIMIT: Final = 200_000
# Characters of each text, after the common start, that are compared to quote what was edited.
_EDIT_LIMIT: Final = 20_000
# Tokens compared at once: the cost of one comparison grows with the square.
_WINDOW: Final = 20_000
_TOKENS: Final = re.compile(r"\s+|\w+|[^\w\s]")
_INNER_SPACES: Final = re.compile(r"(?<=\S)[ \t\u00a0]+(?=\S)")
_LINE_END_SPACES: Final = re.compile(r"(?<![ \t\u00a0])[ \t\u00a0]++(?=\n|\Z)")
_WORD: Final = re.compile(r"\w")
_WORDS: Final = re.compile(r"\w+")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n+")
# Share of equal characters; below it, neither text is an edit of the other.
_MIN_EQUAL: Final = 0.5
# Characters shown before a difference.
_LEAD: Final = 20


class Span(NamedTuple):
    """A stretch of text: `equal`, `delete` (base only) or `insert` (candidate only)."""

    op: str
    text: str


class _Change(NamedTuple):
    """Tokens base[b0:b1] correspond to candidate[c0:c1]; `equal`: they are the same."""

    equal: bool
    b0: int
    b1: int
    c0: int
    c1: int


def normalise(text: str) -> str:
    """Normalise a text for comparison."""
    text = unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n")
    return _LINE_END_SPACES.sub("", _INNER_SPACES.sub(" ", text)).rstrip("\n")


def is_other_text(base: str, candidate: str) -> bool:
    """True if neither text is an edit of the other: no common sentence, and few common words."""
    base, candidate = _edited_parts(base, candidate)
    if not {*_SENTENCE.split(base)}.isdisjoint(_SENTENCE.split(candidate)):
        return False
    spans = word_diff(base, candidate)
    total = sum(len(span.text) for span in spans)
    return total > 0 and sum(len(span.text) for span in spans if span.op == "equal") < _MIN_EQUAL * total


def edit_spans(base: str, candidate: str) -> list[Span]:
    """The spans of two texts, to quote what was edited: of long texts, only the parts where they begin to differ."""
    return word_diff(*_edited_parts(base, candidate))


def word_diff(base: str, candidate: str) -> list[Span]:
    """The spans of two normalised texts; equal and deleted spans make up the base."""
    if base == candidate:
        return [Span("equal", base)] if base else []
    # Always compare in the same order, so that swapping the sides swaps the result.
    if base > candidate:
        return [_swap_sides(span) for span in word_diff(candidate, base)]
    left, right = tokens(base), tokens(candidate)
    return _spans(_readable(_changes(left, right), left), left, right)


def tokens(text: str) -> list[str]:
    """Words, single punctuation marks and runs of white space; joined, they make up the text."""
    return _TOKENS.findall(text)


def words(text: str) -> list[str]:
    """The words of a text in lower case."""
    return [word.lower() for word in _WORDS.findall(text)]


def inserted_text(spans: Sequence[Span]) -> str:
    """The inserted text, in order."""
    return " … ".join(span.text.strip() for span in spans if span.op == "insert" and span.text.strip())


def deleted_text(spans: Sequence[Span]) -> str:
    """The deleted text, in order."""
    return " … ".join(span.text.strip() for span in spans if span.op == "delete" and span.text.strip())


def shorten(text: str, limit: int) -> str:
    """Shorten a text to one line of at most `limit` characters, cut after a word."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    cut = line[: limit - 1]
    head, space, _ = cut.rpartition(" ")
    return f"{head if space and len(head) > limit // 2 else cut}…"


def difference_excerpts(base: str, candidate: str, limit: int) -> tuple[str, str]:
    """Shorten both texts to `limit` characters, from just before a hidden first difference."""
    base_line, candidate_line = shorten(base, limit), shorten(candidate, limit)
    if base_line != candidate_line or base == candidate:
        return base_line, candidate_line
    lines = " ".join(base.split()), " ".join(candidate.split())
    common = _common_prefix(*lines)
    start = max(0, common - _LEAD)
    start = lines[0].find(" ", start, common) + 1 or start  # at a word, where one begins there
    first, second = (f"…{shorten(line[start:], limit - 1)}" for line in lines)
    return first, second


def _edited_parts(base: str, candidate: str) -> tuple[str, str]:
    """Both texts normalised; of long ones, as much before the first difference as after it."""
    if max(len(base), len(candidate)) > 2 * _EDIT_LIMIT:
        difference = _first_difference(base, candidate)
        part = slice(max(0, difference - _EDIT_LIMIT), difference + _EDIT_LIMIT)
        base, candidate = base[part], candidate[part]
    return normalise(base), normalise(candidate)


def _first_difference(base: str, candidate: str) -> int:
    """Where two texts begin to differ, by comparing slices: a loop over megabytes of characters takes seconds."""
    low, high = 0, min(len(base), len(candidate))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if base[low:middle] == candidate[low:middle] else (low, middle - 1)
    return low


def _changes(left: list[str], right: list[str]) -> list[_Change]:
    """Equal and differing stretches: the common ends, and the middle in windows."""
    head = _common_prefix(left, right)
    tail = _common_prefix(left[head:][::-1], right[head:][::-1])
    changes = [_Change(True, 0, head, 0, head)] if head else []
    changes += _middle(left, right, head, tail)
    if tail:
        changes.append(_Change(True, len(left) - tail, len(left), len(right) - tail, len(right)))
    return changes


def _middle(left: list[str], right: list[str], head: int, tail: int) -> list[_Change]:
    ends = len(left) - tail, len(right) - tail
    windows = max(1, -(-max(ends[0] - head, ends[1] - head) // _WINDOW))
    marks = [
        (head + (ends[0] - head) * n // windows, head + (ends[1] - head) * n // windows) for n in range(windows + 1)
    ]
    changes: list[_Change] = []
    for (b0, c0), (b1, c1) in pairwise(marks):
        for op in LCSseq.opcodes(left[b0:b1], right[c0:c1]):
            span = (b0 + op.src_start, b0 + op.src_end, c0 + op.dest_start, c0 + op.dest_end)
            changes.append(_Change(op.tag == "equal", *span))
    return changes


def _common_prefix(left: Sequence[str], right: Sequence[str]) -> int:
    count = 0
    for left_item, right_item in zip(left, right, strict=False):
        if left_item != right_item:
            break
        count += 1
    return count


def _readable(changes: list[_Change], left: list[str]) -> list[_Change]:
    """Join changes over equal stretches that are too short to help a reader."""
    result: list[_Change] = []
    for index, change in enumerate(changes):
        inner = 0 < index < len(changes) - 1
        small = change.equal and inner and not _worth_reading(left[change.b0 : change.b1])
        change = change._replace(equal=False) if small else change
        if result and result[-1].equal == change.equal:
            result[-1] = result[-1]._replace(b1=change.b1, c1=change.c1)
        else:
            result.append(change)
    return result


def _worth_reading(stretch: list[str]) -> bool:
    """True if an equal stretch helps a reader: it has two words, or one long word."""
    stretch_words = [token for token in stretch if _WORD.match(token)]
    return len(stretch_words) > 1 or any(len(token) > 6 for token in stretch_words)


def _spans(changes: list[_Change], left: list[str], right: list[str]) -> list[Span]:
    spans: list[Span] = []
    for change in changes:
        base, candidate = "".join(left[change.b0 : change.b1]), "".join(right[change.c0 : change.c1])
        if change.equal:
            spans.append(Span("equal", base))
        else:
            spans += [Span("delete", base)] if base else []
            spans += [Span("insert", candidate)] if candidate else []
    return spans


def _swap_sides(span: Span) -> Span:
    return span._replace(op={"insert": "delete", "delete": "insert"}.get(span.op, span.op))
