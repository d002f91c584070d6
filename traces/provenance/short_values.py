"""Short values that steps produced, found again in later texts: words, ids, numbers, JSON fields, cut-off beginnings.

Example: a model answers ``{"queue": "billing"}`` and code writes ``You work for BILLING.`` into the next request.
The word is traced to ``/message/content#/queue`` of the model's output: the part of a path after ``#`` is a pointer
into JSON that stands inside a text.

Words are compared without case and whatever separates them. A plain word traces to a step only where chance is
unlikely; what is missed stays content of unknown origin.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import Final

import orjson

from traces.core.canonical import escape_pointer
from traces.core.json_types import JSONValue

MAX_PHRASE: Final = 8  # words; longer texts are found by the runs of words that they share
MAX_SOURCES: Final = 4  # of one value: the first step that produced it, and the latest ones
_MAX_VALUES: Final = 2_000  # of one output
_MAX_TEXT: Final = 60_000  # characters of one text that are searched for values
_BEGINNING: Final = 8  # characters by which a cut-off text is recognised
_FEW_LEAVES: Final = 24  # an output with more fields is data, whose plain words prove nothing
_WORD: Final = re.compile(r"[^\W_]+")
_DIGIT: Final = re.compile(r"\d")
_QUOTED: Final = re.compile(r"\"([^\"\n]{2,60})\"|'([^'\n]{2,60})'|`([^`\n]{2,60})`|\*\*([^*\n]{2,60})\*\*")
_IDENTIFIER: Final = re.compile(r"[^\W_]*\d(?:[\w.,/:#-]*\w)?|[^\W\d_]+(?:[_-][^\W_]+)*[_-][^\W_]*\d[\w-]*")
_ENUM: Final = re.compile(r"(?<![\w-])(?:[A-Z][A-Z0-9]{2,}(?:_[A-Z0-9]+)*|[a-z][a-z0-9]*(?:_[a-z0-9]+)+)(?![\w-])")
_FENCED: Final = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)
_ENDS: Final = ("…", "...", "[", "<", '"', "'", "`", ")", "]", "\n")  # after a text that was cut off
_MARKS: Final = tuple("\"'`:=<>[(*#|→")  # before a value that was filled in
_AROUND: Final = 40  # characters around a value that show whether it was filled in
_COMMON: Final = frozenset(
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
    """What a value is of the output that it stands in, most telling first."""

    WHOLE = "whole"
    FIELD = "field"
    TOKEN = "token"


@dataclass(frozen=True, kw_only=True, slots=True)
class Value:
    """A text in an output, and where it stands there."""

    text: str
    path: str
    kind: ValueKind
    plain: bool = True  # its plain words may be found inside other texts


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """A step that produced a value, and where."""

    producer: int
    path: str
    text: str
    kind: ValueKind
    plain: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """Characters `start` to `end` of a text are a value; `key` finds its sources again."""

    start: int
    end: int
    key: tuple[str, ...]
    sources: tuple[Source, ...]


@dataclass(slots=True)
class ValueIndex:
    """The values of all outputs so far, by their words."""

    _phrases: dict[tuple[str, ...], list[Source]] = field(default_factory=dict)
    _lengths: dict[str, tuple[int, ...]] = field(default_factory=dict)  # by first word, longest first
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
        """The values in a text, none inside another.

        A `reply` was written by somebody who had read the outputs: only ids and numbers in it are traced.
        """
        text = text[:_MAX_TEXT]
        places = [(match.start(), match.end(), match.group().casefold()) for match in _WORD.finditer(text)]
        words = [word for _, _, word in places]
        spans: list[Span] = []
        at = 0
        while at < len(words):
            span = self._phrase_at(text, places, words, at, reply=reply) or (
                None if reply else self._beginning_at(text, places[at][0])
            )
            if span is None:
                at += 1
                continue
            spans.append(span)
            while at < len(words) and places[at][0] < span.end:
                at += 1
        return spans

    def sources(self, span: Span) -> tuple[Source, ...]:
        """Who produced the value of a span by now."""
        return tuple(self._phrases.get(span.key, ())) or span.sources

    def _add_phrase(self, words: tuple[str, ...], source: Source) -> None:
        _append(self._phrases.setdefault(words, []), source)
        lengths = self._lengths.get(words[0], ())
        if len(words) not in lengths:
            self._lengths[words[0]] = tuple(sorted({*lengths, len(words)}, reverse=True))

    def _phrase_at(
        self, text: str, places: list[tuple[int, int, str]], words: list[str], at: int, *, reply: bool
    ) -> Span | None:
        for length in self._lengths.get(words[at], ()):
            key = tuple(words[at : at + length])
            sources = self._phrases.get(key) if len(key) == length else None
            if sources is None:
                continue
            start, end = places[at][0], places[at + length - 1][1]
            if reply:
                fitting = list(sources) if _is_identifier(key) else []
            else:
                fitting = [source for source in sources if _is_telling(source, key, text, start, end)]
            if fitting:
                return Span(start=start, end=end, key=key, sources=tuple(fitting))
        return None

    def _beginning_at(self, text: str, start: int) -> Span | None:
        """A text that was cut off after at least some characters: at the end of this one, or before a mark."""
        for source in reversed(self._beginnings.get(text[start : start + _BEGINNING].casefold(), ())):
            shared = shared_beginning(text[start : start + len(source.text)], source.text)
            end = start + shared
            if shared < len(source.text) and (end == len(text) or text[end:].lstrip(" ").startswith(_ENDS)):
                return Span(start=start, end=end, key=(), sources=(source,))
        return None


def words_of(text: str) -> list[str]:
    """The words of a text without case."""
    return [word.casefold() for word in _WORD.findall(text)]


def shared_beginning(one: str, other: str) -> int:
    """How many characters two texts begin with alike, whatever their case."""
    for at, (mine, theirs) in enumerate(zip(one, other, strict=False)):
        if mine != theirs and mine.casefold() != theirs.casefold():
            return at
    return min(len(one), len(other))


def output_values(output: JSONValue) -> Iterator[Value]:
    """The values of any output but a model's."""
    if isinstance(output, str):
        yield from _text_values(output, "", ValueKind.WHOLE)
    else:
        yield from _fields(output, "")


def answer_values(message: JSONValue, path: str) -> Iterator[Value]:
    """The values of a model's message: its text, and the arguments that it gives to tools."""
    if not isinstance(message, dict):
        return
    content = message.get("content")
    if isinstance(content, str):
        yield from _text_values(content, f"{path}/content", ValueKind.WHOLE)
    for index, block in enumerate(content if isinstance(content, list) else ()):
        text = block.get("text") if isinstance(block, dict) else None
        if isinstance(text, str):
            yield from _text_values(text, f"{path}/content/{index}/text", ValueKind.WHOLE)
    calls = message.get("tool_calls")
    for index, call in enumerate(calls if isinstance(calls, list) else ()):
        if isinstance(call, dict):
            yield from _fields(call.get("arguments"), f"{path}/tool_calls/{index}/arguments")


def json_in(text: str) -> tuple[JSONValue, int, int] | None:
    """The object or list that a text is or holds, and where it stands."""
    for start, end in _json_places(text):
        try:
            value = orjson.loads(text[start:end])
        except orjson.JSONDecodeError:
            continue
        if isinstance(value, dict | list):
            return value, start, end
    return None


def _json_places(text: str) -> Iterator[tuple[int, int]]:
    for match in islice(_FENCED.finditer(text), 3):
        yield match.start(1), match.end(1)
    for opening, closing in ("{}", "[]"):
        start, end = text.find(opening), text.rfind(closing)
        if 0 <= start < end:
            yield start, end + 1


def _text_values(text: str, path: str, kind: ValueKind) -> Iterator[Value]:
    """A text itself, what stands in it as JSON, and the tokens in it that hardly appear by chance."""
    stripped = text.strip()
    if not stripped:
        return
    yield Value(text=stripped, path=path, kind=kind)
    if (inner := json_in(text)) is not None:
        yield from _fields(inner[0], f"{path}#")
    elif len(words_of(stripped[:200])) > 1:
        yield from (Value(text=token, path=path, kind=ValueKind.TOKEN) for token in tokens_of(text))


def _fields(value: JSONValue, path: str) -> Iterator[Value]:
    leaves = list(islice(_leaves(value, path), _MAX_VALUES))
    few = len(leaves) <= _FEW_LEAVES
    for place, leaf in leaves:
        text = leaf.strip() if isinstance(leaf, str) else str(leaf)
        if not text:
            continue
        yield Value(text=text, path=place, kind=ValueKind.FIELD, plain=few and isinstance(leaf, str))
        if isinstance(leaf, str) and len(text) > _BEGINNING and " " in text:
            yield from (Value(text=token, path=place, kind=ValueKind.TOKEN) for token in tokens_of(text))


def _leaves(value: JSONValue, path: str) -> Iterator[tuple[str, str | int | float]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, f"{path}/{escape_pointer(key)}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _leaves(item, f"{path}/{index}")
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield path, value


def tokens_of(text: str) -> list[str]:
    """The ids, numbers, quoted words and enum values in a text, each once."""
    text = text[:_MAX_TEXT]
    tokens = [token for token in _IDENTIFIER.findall(text) if _is_identifier(words_of(token))]
    quoted = (next(filter(None, groups)).strip() for groups in _QUOTED.findall(text))
    tokens += [token for token in quoted if 0 < len(words_of(token)) <= 5]
    tokens += _ENUM.findall(text)
    return list(dict.fromkeys(tokens))


def is_long_identifier(words: list[str]) -> bool:
    """Whether words are an id that no other text holds by chance: letters with digits, or five digits; no date."""
    joined = "".join(words)
    digits = len(_DIGIT.findall(joined))
    return 0 < digits < len(joined) > 4 or (len(words) == 1 and digits > 4)


def _append(sources: list[Source], source: Source) -> None:
    """Keep the first source and the latest ones, one for each step."""
    if sources and sources[-1].producer == source.producer:
        return
    if len(sources) >= MAX_SOURCES:
        del sources[1]
    sources.append(source)


def _is_identifier(words: tuple[str, ...] | list[str]) -> bool:
    """Whether words are an id, or a number with more than two digits."""
    joined = "".join(words)
    digits = len(_DIGIT.findall(joined))
    return digits > 2 or (digits > 0 and len(joined) > 3)


def _is_telling(source: Source, words: tuple[str, ...], text: str, start: int, end: int) -> bool:
    """Whether the same words at this place are hardly chance."""
    if _is_identifier(words) or (source.kind is ValueKind.TOKEN and any(word not in _COMMON for word in words)):
        return True
    digits = any(word.isdecimal() for word in words)
    if source.kind is ValueKind.WHOLE and start == 0 and not text[end : end + _AROUND].strip(" \n.!"):
        return True  # the text is this value and nothing else
    if digits or not any(len(word) > 1 for word in words):
        return source.kind is ValueKind.WHOLE and _is_marked(text, start, end)
    if len(words) > 1 and any(word not in _COMMON and len(word) > 2 for word in words):
        return source.plain or len(words) > 2 or _is_marked(text, start, end)
    if source.plain and len(words[0]) > 2 and words[0] not in _COMMON:
        return True
    return (source.kind is ValueKind.WHOLE or words[0] not in _COMMON) and _is_marked(text, start, end)


def _is_marked(text: str, start: int, end: int) -> bool:
    """Whether a place in a text looks filled in: quoted, after a colon, or the only thing in its line."""
    before = text[max(0, start - _AROUND) : start].rstrip(" ")
    after = text[end : end + _AROUND].lstrip(" ")
    begins = not before or before.endswith("\n")
    ends = not after.strip(" .!") or after.startswith(("\n", ".\n"))
    return before.endswith(_MARKS) or (begins and ends)
