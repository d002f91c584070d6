"""Index of short values that steps produced: words, ids, numbers, JSON fields and truncated beginnings of texts.

Example: a model answers ``{"queue": "billing"}`` and code writes ``You work for BILLING.`` into the next request.
The word is traced to ``/message/content#/queue`` of the model's output: the part of a path after ``#`` is a pointer
into JSON inside a text.

Words are compared without case and without separators. A plain word is traced only where a coincidence is unlikely;
a value that is missed stays content of unknown origin.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import Final

import orjson

from traces.core.json_access import as_list, as_string, member
from traces.core.json_types import JSONValue
from traces.core.json_walk import scalars
from traces.core.step_header import step_view
from traces.core.vocabulary import StepType
from traces.payloads.messages import ANSWER, Message, ModelAnswer

# In words; longer texts are traced by their runs of words.
MAX_PHRASE: Final = 8
# Per value: the first step that produced it, and the latest ones.
MAX_SOURCES: Final = 4
# Per output.
_MAX_VALUES: Final = 2_000
# Characters of a text that are searched for values.
_MAX_TEXT: Final = 60_000
# Characters by which a truncated text is recognized.
_BEGINNING: Final = 8
# An output with more fields is data: its plain words are no evidence.
_FEW_LEAVES: Final = 24
_WORD: Final = re.compile(r"[^\W_]+")
_DIGIT: Final = re.compile(r"\d")
_QUOTATION: Final = re.compile(r"\"([^\"\n]{2,60})\"|'([^'\n]{2,60})'|`([^`\n]{2,60})`|\*\*([^*\n]{2,60})\*\*")
_IDENTIFIER: Final = re.compile(r"[^\W_]*\d(?:[\w.,/:#-]*\w)?|[^\W\d_]+(?:[_-][^\W_]+)*[_-][^\W_]*\d[\w-]*")
# In pieces, because the time to search one grows with the square of its length.
_IDENTIFIER_RUN: Final = re.compile(r"[\w.,/:#-]{1,200}")
_QUOTATION_MARKS: Final = ('"', "'", "`", "**")
_CAPITALS: Final = re.compile(r"[A-Z][A-Z0-9]{2}")
_ENUM: Final = re.compile(r"(?<![\w-])(?:[A-Z][A-Z0-9]{2,}(?:_[A-Z0-9]+)*|[a-z][a-z0-9]*(?:_[a-z0-9]+)+)(?![\w-])")
_FENCE: Final = re.compile(r"```(?:json)?(?:[^\S\n]*+\n)++(.*?)```", re.DOTALL)
# May follow a truncated text.
_ENDS: Final = ("…", "...", "[", "<", '"', "'", "`", ")", "]", "\n")
# May precede a value that code filled in.
_MARKS: Final = tuple("\"'`:=<>[(*#|→")
# Characters before and after a value that show whether code filled it in.
_CONTEXT: Final = 40
# Words that no output is recognized by.
COMMON_WORDS: Final = frozenset(
    _WORD.findall(
        """
    a about above after again all also always an and any are as at be because been before being below between both
    but by can cannot case check could data date day did do does done down each else end error even every false few
    file find first for from full get give given go good had has have he help her here him his how i id if in info
    input into is it its item just key know last left less like list long look made make many may me message might
    more most much must my name need never new next no none nor not note nothing now null number of off ok okay old
    on once one only open or other our out output over own part please put question ready request response result
    right role same say see set she should show size so some state status step still such system take task tell text
    than that the their them then there these they thing this those through time title to today too true two type
    under unknown up update us use used user value very was way we well were what when where which while who why will
    with without word work would write year yes you your assistant answer agent model tool content success
    """
    )
)


class ValueKind(StrEnum):
    """The part of an output that a value is, strongest evidence first."""

    WHOLE = "whole"
    FIELD = "field"
    TOKEN = "token"


@step_view
class Value:
    """A text in an output, and its path."""

    text: str
    path: str
    kind: ValueKind
    # Its plain words count as evidence inside other texts.
    plain: bool = True


@step_view
class Source:
    """A step that produced a value, and the value's path in its output."""

    producer: int
    path: str
    text: str
    kind: ValueKind
    plain: bool


@step_view
class Span:
    """A value at characters `start` to `end` of a text; `key` looks up its sources again."""

    start: int
    end: int
    key: tuple[str, ...]
    sources: tuple[Source, ...]


@dataclass(slots=True)
class ValueIndex:
    """The values of all outputs so far, by their words."""

    _phrases: dict[tuple[str, ...], list[Source]] = field(default_factory=dict)
    # Lengths of phrases by first word, longest first.
    _lengths: dict[str, tuple[int, ...]] = field(default_factory=dict)
    _beginnings: dict[str, list[Source]] = field(default_factory=dict)

    def add(self, producer: int, values: Iterator[Value]) -> None:
        for value in islice(values, _MAX_VALUES):
            source = Source(producer=producer, path=value.path, text=value.text, kind=value.kind, plain=value.plain)
            words = words_of(value.text[:_MAX_TEXT])
            if 0 < len(words) <= MAX_PHRASE:
                self._add_phrase(tuple(words), source)
            if value.kind is not ValueKind.TOKEN and len(value.text) > _BEGINNING:
                _append(self._beginnings.setdefault(value.text[:_BEGINNING].casefold(), []), source)

    def find(self, text: str, *, reply: bool = False) -> list[Span]:
        """Find the values in a text; they do not overlap.

        The author of a `reply` had read the outputs: only ids and numbers in it are traced.
        """
        text = text[:_MAX_TEXT]
        places = [(match.start(), match.end(), match.group().casefold()) for match in _WORD.finditer(text)]
        words = [word for _, _, word in places]
        spans: list[Span] = []
        position = 0
        while position < len(words):
            span = self._phrase_at(text, places, words, position, reply=reply) or (
                None if reply else self._beginning_at(text, places[position][0])
            )
            if span is None:
                position += 1
                continue
            spans.append(span)
            while position < len(words) and places[position][0] < span.end:
                position += 1
        return spans

    def sources(self, span: Span) -> tuple[Source, ...]:
        """Return the steps that have produced the value of a span so far."""
        return tuple(self._phrases.get(span.key, ())) or span.sources

    def _add_phrase(self, words: tuple[str, ...], source: Source) -> None:
        _append(self._phrases.setdefault(words, []), source)
        lengths = self._lengths.get(words[0], ())
        if len(words) not in lengths:
            self._lengths[words[0]] = tuple(sorted({*lengths, len(words)}, reverse=True))

    def _phrase_at(
        self, text: str, places: list[tuple[int, int, str]], words: list[str], position: int, *, reply: bool
    ) -> Span | None:
        for length in self._lengths.get(words[position], ()):
            key = tuple(words[position : position + length])
            sources = self._phrases.get(key) if len(key) == length else None
            if sources is None:
                continue
            start, end = places[position][0], places[position + length - 1][1]
            if reply:
                fitting = list(sources) if _is_identifier(key) else []
            else:
                fitting = [source for source in sources if _is_evidence(source, key, text, start, end)]
            if fitting:
                return Span(start=start, end=end, key=key, sources=tuple(fitting))
        return None

    def _beginning_at(self, text: str, start: int) -> Span | None:
        """Match a text that was truncated after at least `_BEGINNING` characters: at the end here, or before a mark."""
        for source in reversed(self._beginnings.get(text[start : start + _BEGINNING].casefold(), ())):
            length = common_prefix_length(text[start : start + len(source.text)], source.text)
            end = start + length
            if length < len(source.text) and (end == len(text) or text[end:].lstrip(" ").startswith(_ENDS)):
                return Span(start=start, end=end, key=(), sources=(source,))
        return None


def words_of(text: str) -> list[str]:
    """Return the words of a text, case-folded."""
    if text.isascii():
        return _WORD.findall(text.lower())
    return [word.casefold() for word in _WORD.findall(text)]


def common_prefix_length(left: str, right: str) -> int:
    """Return the length of the common prefix of two texts, ignoring case."""
    for index, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b and a.casefold() != b.casefold():
            return index
    return min(len(left), len(right))


def output_values(type: StepType, output: JSONValue) -> Iterator[Value]:
    """Yield the values of the output of a step; a model's are its text, and the arguments of its tool calls."""
    if type is StepType.MODEL:
        yield from _answer_values(ModelAnswer(output).message)
    elif isinstance(output, str):
        yield from _text_values(output, "")
    else:
        yield from _fields(output, "")


def _answer_values(message: JSONValue) -> Iterator[Value]:
    content = Message(message).content
    yield from _text_values(as_string(content), f"{ANSWER}/content")
    for index, block in enumerate(as_list(content)):
        yield from _text_values(as_string(member(block, "text")), f"{ANSWER}/content/{index}/text")
    for index, call in enumerate(as_list(member(message, "tool_calls"))):
        yield from _fields(member(call, "arguments"), f"{ANSWER}/tool_calls/{index}/arguments")


def json_in(text: str) -> tuple[JSONValue, int, int] | None:
    """Return the JSON object or list in a text with its start and end, or None."""
    for start, end in _json_places(text):
        try:
            value = orjson.loads(text[start:end])
        except orjson.JSONDecodeError:
            continue
        if isinstance(value, dict | list):
            return value, start, end
    return None


def _json_places(text: str) -> Iterator[tuple[int, int]]:
    for match in islice(_FENCE.finditer(text), 3):
        yield match.start(1), match.end(1)
    for opening, closing in ("{}", "[]"):
        start, end = text.find(opening), text.rfind(closing)
        if 0 <= start < end:
            yield start, end + 1


def _text_values(text: str, path: str) -> Iterator[Value]:
    """Yield a text itself, the fields of JSON inside it, or the tokens that are unlikely to be a coincidence."""
    clean_text = text.strip()
    if not clean_text:
        return
    yield Value(text=clean_text, path=path, kind=ValueKind.WHOLE)
    if (inner := json_in(text)) is not None:
        yield from _fields(inner[0], f"{path}#")
    elif len(words_of(clean_text[:200])) > 1:
        yield from (Value(text=token, path=path, kind=ValueKind.TOKEN) for token in tokens_of(text))


def _fields(value: JSONValue, path: str) -> Iterator[Value]:
    values = ((place, leaf) for place, leaf in scalars(value, path) if not isinstance(leaf, bool | None))
    leaves = list(islice(values, _MAX_VALUES))
    is_small = len(leaves) <= _FEW_LEAVES
    for place, leaf in leaves:
        text = leaf.strip() if isinstance(leaf, str) else str(leaf)
        if not text:
            continue
        yield Value(text=text, path=place, kind=ValueKind.FIELD, plain=is_small and isinstance(leaf, str))
        if isinstance(leaf, str) and len(text) > _BEGINNING and " " in text:
            yield from (Value(text=token, path=place, kind=ValueKind.TOKEN) for token in tokens_of(text))


def tokens_of(text: str) -> list[str]:
    """Return the ids, numbers, quoted words and enum values in a text, without duplicates."""
    text = text[:_MAX_TEXT]
    # Identifiers lie within a run of these characters. Most runs have no digit and need not be searched.
    runs = [run for run in dict.fromkeys(_IDENTIFIER_RUN.findall(text)) if _DIGIT.search(run)]
    tokens = [token for run in runs for token in _IDENTIFIER.findall(run) if _is_identifier(words_of(token))]
    if any(mark in text for mark in _QUOTATION_MARKS):
        quotations = (next(filter(None, groups)).strip() for groups in _QUOTATION.findall(text))
        tokens += [token for token in quotations if 0 < len(words_of(token)) <= 5]
    if "_" in text or _CAPITALS.search(text):
        tokens += _ENUM.findall(text)
    return list(dict.fromkeys(tokens))


def is_long_identifier(words: list[str]) -> bool:
    """True for an id that is unique in practice: letters with digits, or five digits; not a date."""
    characters = "".join(words)
    digits = len(_DIGIT.findall(characters))
    return 0 < digits < len(characters) > 4 or (len(words) == 1 and digits > 4)


def _append(sources: list[Source], source: Source) -> None:
    """Append a source; the first and the latest are retained, one per step."""
    if sources and sources[-1].producer == source.producer:
        return
    if len(sources) >= MAX_SOURCES:
        del sources[1]
    sources.append(source)


def _is_identifier(words: tuple[str, ...] | list[str]) -> bool:
    """True for an id, or a number with more than two digits."""
    characters = "".join(words)
    digits = len(_DIGIT.findall(characters))
    return digits > 2 or (digits > 0 and len(characters) > 3)


def _is_evidence(source: Source, words: tuple[str, ...], text: str, start: int, end: int) -> bool:
    """True if the same words at this position are unlikely to be a coincidence."""
    if _is_identifier(words) or (source.kind is ValueKind.TOKEN and any(word not in COMMON_WORDS for word in words)):
        return True
    digits = any(word.isdecimal() for word in words)
    if source.kind is ValueKind.WHOLE and start == 0 and not text[end : end + _CONTEXT].strip(" \n.!"):
        # The whole text is this value.
        return True
    if digits or not any(len(word) > 1 for word in words):
        return source.kind is ValueKind.WHOLE and _is_marked(text, start, end)
    if len(words) > 1 and any(word not in COMMON_WORDS and len(word) > 2 for word in words):
        return source.plain or len(words) > 2 or _is_marked(text, start, end)
    if source.plain and len(words[0]) > 2 and words[0] not in COMMON_WORDS:
        return True
    return (source.kind is ValueKind.WHOLE or words[0] not in COMMON_WORDS) and _is_marked(text, start, end)


def _is_marked(text: str, start: int, end: int) -> bool:
    """True if code seems to have filled in this range: it is quoted, after a colon, or alone in its line."""
    before = text[max(0, start - _CONTEXT) : start].rstrip(" ")
    after = text[end : end + _CONTEXT].lstrip(" ")
    begins = not before or before.endswith("\n")
    ends = not after.strip(" .!") or after.startswith(("\n", ".\n"))
    return before.endswith(_MARKS) or (begins and ends)
