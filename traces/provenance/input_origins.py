"""Origins of input content: values of earlier outputs, content of earlier inputs, or unexplained.

Unexplained content was made by code from unknown sources. Each piece records the step in whose input it appeared
first: neither that step nor a later one can have caused it.

Example: ``You work for BILLING. Answer briefly.`` with BILLING from step 1 leaves ``You work for … Answer briefly.``
"""

import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final
from unicodedata import category

import orjson

from traces.core.canonical import digest, digest_bytes, escape_pointer
from traces.core.json_types import JSONObject, JSONValue
from traces.core.step_header import step_view
from traces.provenance.hidden_content import has_gap
from traces.provenance.output_placements import Reading
from traces.provenance.short_values import Source, Span, ValueIndex, words_of
from traces.provenance.text_index import TextIndex

MAX_PATH: Final = 200
MAX_ITEMS: Final = 32  # per step
_SNIPPET: Final = 100
_GAP: Final = "…"
# Categories of stars, check marks and emoji.
_PICTURES: Final = ("So", "Sk")


@step_view
class UnexplainedContent:
    """Content of unknown origin at `path` of an input. It appeared first in the input of `first_step`.

    `digest` identifies the place and the content, with gaps for the values in it that are explained. Without one, the
    content was not recorded, and may differ from any other.
    """

    path: str
    first_step: int
    snippet: str
    digest: str

    def as_json(self) -> JSONObject:
        """Return the item in its stored form."""
        return {"path": self.path, "since": self.first_step, "snippet": self.snippet, "digest": self.digest}


def from_json(items: Iterable[JSONObject]) -> tuple[UnexplainedContent, ...]:
    """Parse stored items; raise `ValueError` or `TypeError` for anything else."""
    return tuple(
        UnexplainedContent(
            path=str(item["path"]),
            first_step=int(str(item["since"])),
            snippet=str(item["snippet"]),
            digest=str(item["digest"]),
        )
        for item in items
    )


@dataclass(frozen=True, slots=True)
class _Analysis:
    """The parts of a text that repeat earlier outputs, as of the text's first appearance."""

    spans: tuple[Span, ...]
    # Ranges whose words are a run of words of some output.
    repetitions: Sequence[tuple[int, int]]
    # Empty if the whole text is explained.
    remainder: str
    # A part of it was not recorded.
    has_gap: bool


@dataclass(slots=True)
class Origins:
    """The content of all inputs so far, in the order of the steps."""

    texts: TextIndex
    values: ValueIndex = field(default_factory=ValueIndex)
    _analyses: dict[tuple[str, str], _Analysis] = field(default_factory=dict)
    _first_steps: dict[str, int] = field(default_factory=dict)
    # The digest and the snippet of content in a place of a shape.
    _names: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)

    def add_stored(self, no: int, items: Iterable[UnexplainedContent]) -> None:
        """Add the stored unexplained content of step `no`."""
        for item in items:
            self._first_steps.setdefault(item.digest, min(item.first_step, no))

    def text(
        self, no: int, path: str, shape: str, text: str, reading: Reading
    ) -> tuple[list[Source], list[UnexplainedContent]]:
        """Return the sources of the values in a text of step `no`'s input, and the text's unexplained content."""
        analysis = self._analysis(shape, text, reply=reading.reply)
        sources: list[Source] = []
        spans: list[Span] = []
        for span in analysis.spans:
            candidates = self.values.sources(span)
            visible = [source for source in candidates if not reading.hides(source.producer, source.text)]
            sources += [source for source in visible if source.producer < no]
            spans += [span] if visible else []
        remainder = analysis.remainder
        if len(spans) < len(analysis.spans):
            remainder = _remainder(text, _ranges(spans, analysis.repetitions))
        if analysis.has_gap:
            return sources, [hidden_content(no, path, text)]
        return sources, [self.item(no, path, shape, remainder)] if remainder else []

    def item(self, no: int, path: str, shape: str, content: str, *, snippet: str = "") -> UnexplainedContent:
        """Return content of unknown origin in the input of step `no`, with the step of its first appearance.

        `snippet` stands for content that nobody could read.
        """
        names = self._names.get((shape, content))
        if names is None:
            # Requests that repeat a conversation have the same content in each step: one text serves all of them.
            names = self._names[shape, content] = digest([shape, content])[:32], _cut(content)
        name, own_snippet = names
        first_step = self._first_steps.setdefault(name, no)
        return UnexplainedContent(
            path=fit_path(path), first_step=first_step, snippet=_cut(snippet) if snippet else own_snippet, digest=name
        )

    @staticmethod
    def digest_of(value: JSONValue) -> str:
        """Return a digest of a part of a request."""
        try:
            return digest_bytes(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))
        except orjson.JSONEncodeError:  # integers of more than 64 bits
            return digest(value)

    def _analysis(self, shape: str, text: str, *, reply: bool) -> _Analysis:
        """Analyze a text once: a text that appeared in an earlier input did not come from a later output.

        A single word is analyzed every time, because it may come from a different step each time.
        """
        if (cached := self._analyses.get((shape, text))) is not None:
            return cached
        repetitions = self.texts.covers(text)
        start, end = _content_range(text)
        spans = tuple(
            span
            for span in self.values.find(text, reply=reply)
            # Other outputs may have a value that is a whole text among other words.
            if (span.start <= start and span.end >= end) or not _is_inside(span, repetitions)
        )
        remainder = _remainder(text, _ranges(spans, repetitions))
        analysis = _Analysis(spans, repetitions, remainder, has_gap(text))
        if len(words_of(text[:200])) > 1:
            self._analyses[shape, text] = analysis
        return analysis


def hidden_content(no: int, path: str, snippet: str) -> UnexplainedContent:
    """Return content that was not recorded, in the input of step `no`: equal marks may hide different content."""
    return UnexplainedContent(path=fit_path(path), first_step=no, snippet=_cut(snippet), digest="")


def fit_path(path: str) -> str:
    """Return the path, or that of the nearest enclosing value that fits its column: no NUL, at most 200 characters."""
    prefix = path[: MAX_PATH + 1].partition("\x00")[0]
    return path if len(prefix) == len(path) <= MAX_PATH else prefix.rpartition("/")[0]


def newest(items: Iterable[UnexplainedContent]) -> tuple[UnexplainedContent, ...]:
    """Return the `MAX_ITEMS` items that appeared last, in their original order."""
    contents = list(items)
    if len(contents) <= MAX_ITEMS:
        return tuple(contents)
    indices = sorted(range(len(contents)), key=lambda index: -contents[index].first_step)[:MAX_ITEMS]
    return tuple(contents[index] for index in sorted(indices))


def scalars(value: JSONValue, path: str, shape: str) -> Iterator[tuple[str, str, JSONValue]]:
    """Yield every scalar in a value with its path and its shape: the path with `*` for list indices."""
    if isinstance(value, dict):
        # In canonical order, as stored, so that it does not matter when provenance is computed.
        for key, item in sorted(value.items()):
            name = escape_pointer(key)
            yield from scalars(item, f"{path}/{name}", f"{shape}/{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from scalars(item, f"{path}/{index}", f"{shape}/*")
    elif value is not None and value != "":
        yield path, shape, value


def empty_values(value: JSONValue, path: str, shape: str) -> Iterator[tuple[str, str, JSONValue]]:
    """Yield what `scalars` leaves out of the parts of a value: nulls, empty texts, lists and objects.

    Code writes them where it found nothing, as in `{"ids": [], "first": null}`.
    """
    items: Iterable[tuple[str, str, JSONValue]] = ()
    if isinstance(value, dict):
        names = ((escape_pointer(key), item) for key, item in sorted(value.items()))
        items = ((f"{path}/{name}", f"{shape}/{name}", item) for name, item in names)
    elif isinstance(value, list):
        items = ((f"{path}/{index}", f"{shape}/*", item) for index, item in enumerate(value))
    for item_path, item_shape, item in items:
        if item in (None, "", [], {}):
            yield item_path, item_shape, item
        else:
            yield from empty_values(item, item_path, item_shape)


def _is_inside(span: Span, ranges: Sequence[tuple[int, int]]) -> bool:
    """True if the words around a value were repeated together with it."""
    index = bisect_right(ranges, (span.start, sys.maxsize)) - 1
    return index >= 0 and span.end <= ranges[index][1]


def _content_range(text: str) -> tuple[int, int]:
    """Return where the content of a text begins and ends: what is outside is only punctuation."""
    start = next((place for place, character in enumerate(text) if _is_content(character)), len(text))
    return start, next((place for place in range(len(text), start, -1) if _is_content(text[place - 1])), start)


def _ranges(spans: Iterable[Span], repetitions: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    return [*((span.start, span.end) for span in spans), *repetitions]


def _remainder(text: str, ranges: Sequence[tuple[int, int]]) -> str:
    """Return the text outside of `ranges`, with gaps; empty if it is only punctuation around values."""
    if not ranges:
        return text.strip()
    pieces: list[str] = []
    position = 0
    for start, end in sorted(ranges):
        piece = text[position:start].strip()
        if piece or not pieces:
            pieces.append(piece)
        position = max(position, end)
    pieces.append(text[position:].strip())
    return _GAP.join(pieces) if any(map(_is_content, "".join(pieces))) else ""


def _is_content(character: str) -> bool:
    """True for letters, digits and pictures; punctuation only separates values."""
    return character.isalnum() or category(character) in _PICTURES


def _cut(text: str) -> str:
    plain = " ".join(text[: 2 * _SNIPPET].split()).replace("\x00", "\ufffd")
    return plain if len(plain) <= _SNIPPET else plain[: _SNIPPET - 1] + "…"
