"""Word-level comparison of texts, for reading.

Texts are normalised first (Unicode NFC, line ends, spaces at line ends and runs of spaces inside a line), so that
invisible differences do not count. Swapping the texts swaps the result.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, groupby, pairwise
from operator import attrgetter
from typing import Final, NamedTuple

from rapidfuzz.distance import LCSseq

from diffing.sequences.anchors import longest_chain, unique_pairs

# Characters of one text that are compared; a report names the rest as not compared.
LIMIT: Final = 200_000
# Characters of each text, after the common start, that are compared to quote what was edited.
_EDIT_LIMIT: Final = 20_000
# Tokens compared at once: the cost of one comparison grows with the square.
_WINDOW: Final = 20_000
# Phrases up to a line end or punctuation mark, and shorter ones: up to a long word, too.
_PHRASES: Final = (
    re.compile(r"[\w \t]*[^\w \t]+|[\w \t]+"),
    re.compile(r"[\w \t]*?(?:\w{7}\w*|[^\w \t]+|\Z)"),
)
# Characters of a phrase that hardly occurs once in each of two texts by chance.
_MIN_PHRASE: Final = 8
_TOKENS: Final = re.compile(r"\s+|\w+|[^\w\s]")
_SPACES: Final = " \t\u00a0"
# Inside a line, what is not a single space.
_WIDE_SPACES: Final = re.compile(r"(?<=\S)(?:[ \t\u00a0]{2,}|[\t\u00a0])(?=\S)")
_WORDS: Final = re.compile(r"\w+")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n+")
# Share of equal characters; below it, neither text is an edit of the other.
_MIN_EQUAL: Final = 0.5
# Characters of a word that is worth reading by itself: more than these.
_LONG_WORD: Final = 6
# Characters shown before a difference.
_LEAD: Final = 20


class Span(NamedTuple):
    """A stretch of text: `equal`, `delete` (base only) or `insert` (candidate only)."""

    op: str
    text: str


class _Block(NamedTuple):
    """A stretch of equal tokens: base[base_at:] and candidate[candidate_at:] have `size` of them."""

    base_at: int
    candidate_at: int
    size: int


def normalise(text: str) -> str:
    """Normalise a text for comparison."""
    text = unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n")
    # Most texts have single spaces only, and the search for others takes most of the time.
    if any(spaces in text for spaces in ("  ", "\t", "\u00a0")):
        text = _WIDE_SPACES.sub(" ", text)
    return "\n".join([line.rstrip(_SPACES) for line in text.split("\n")]).rstrip("\n")


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
    return _join_spans(span for texts in _stretches(base, candidate) for span in _token_diff(*texts))


def _stretches(base: str, candidate: str, phrases: Sequence[re.Pattern[str]] = _PHRASES) -> Iterator[tuple[str, str]]:
    """Cut long texts at the phrases that occur once in each of them: the time to compare grows with the square.

    Equal phrases are stretches, too. Those that are still long are cut at shorter phrases.
    """
    if max(len(base), len(candidate)) <= 2 * _EDIT_LIMIT or base == candidate or not phrases:
        yield base, candidate
        return
    left, right = phrases[0].findall(base), phrases[0].findall(candidate)
    keys = ([phrase if len(phrase) >= _MIN_PHRASE else None for phrase in side] for side in (left, right))
    # Where equal phrases begin and end: the end of both texts counts as one of them.
    start = at_left = at_right = 0
    for i, j in [*longest_chain(unique_pairs(*keys)), (len(left), len(right))]:
        if (i, j) != (at_left, at_right):
            yield ("".join(left[start:at_left]),) * 2
            yield from _stretches("".join(left[at_left:i]), "".join(right[at_right:j]), phrases[1:])
            start = i
        at_left, at_right = i + 1, j + 1
    yield ("".join(left[start:]),) * 2


def _token_diff(base: str, candidate: str) -> Iterator[Span]:
    if base == candidate:
        return iter([Span("equal", base)])
    left, right = tokens(base), tokens(candidate)
    return _spans(_equal_blocks(left, right), left, right)


def _join_spans(spans: Iterable[Span]) -> list[Span]:
    """Join neighbours of one kind, and leave out empty spans."""
    groups = groupby((span for span in spans if span.text), key=attrgetter("op"))
    return [Span(op, "".join(span.text for span in group)) for op, group in groups]


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


def _equal_blocks(left: list[str], right: list[str]) -> Iterator[_Block]:
    """The equal stretches: the common ends, and those in the middle that help a reader."""
    head = _common_prefix(left, right)
    tail = _common_prefix(left[head:][::-1], right[head:][::-1])
    yield _Block(0, 0, head)
    ends = len(left) - tail, len(right) - tail
    for block in _common_blocks(left[head : ends[0]], right[head : ends[1]]):
        start = head + block.base_at
        # Two words, or one long word. Shorter stretches make a difference harder to read.
        if any(weight > 1 for weight in accumulate(map(_weight, left[start : start + block.size]))):
            yield _Block(start, head + block.candidate_at, block.size)
    yield _Block(*ends, tail)


def _common_blocks(left: list[str], right: list[str]) -> Iterator[_Block]:
    """The longest common subsequence of two lists, in windows."""
    windows = max(1, -(-max(len(left), len(right)) // _WINDOW))
    marks = [(len(left) * n // windows, len(right) * n // windows) for n in range(windows + 1)]
    for (b0, c0), (b1, c1) in pairwise(marks):
        for block in LCSseq.editops(left[b0:b1], right[c0:c1]).as_matching_blocks():
            yield _Block(b0 + block.a, c0 + block.b, block.size)


def _weight(token: str) -> int:
    """2 for a long word, 1 for another one, 0 for spaces and punctuation."""
    if not (token[0].isalnum() or token[0] == "_"):
        return 0
    return 2 if len(token) > _LONG_WORD else 1


def _common_prefix(left: Sequence[str], right: Sequence[str]) -> int:
    count = 0
    for left_item, right_item in zip(left, right, strict=False):
        if left_item != right_item:
            break
        count += 1
    return count


def _spans(blocks: Iterable[_Block], left: list[str], right: list[str]) -> Iterator[Span]:
    base_at = candidate_at = 0
    for block in blocks:
        yield Span("delete", "".join(left[base_at : block.base_at]))
        yield Span("insert", "".join(right[candidate_at : block.candidate_at]))
        base_at, candidate_at = block.base_at + block.size, block.candidate_at + block.size
        yield Span("equal", "".join(left[block.base_at : base_at]))


def _swap_sides(span: Span) -> Span:
    return span._replace(op={"insert": "delete", "delete": "insert"}.get(span.op, span.op))
