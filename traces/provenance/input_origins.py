"""What in a step's input is of known origin: values of earlier outputs, or content that stood in an earlier input.

The rest is *unexplained*: code made it, from what is not known. Each piece of it carries the number of the step in
whose input it appeared first (`since`): a change of that step or of a later one cannot have made it.

Example: ``You work for BILLING. Answer briefly.`` with BILLING from step 1 leaves ``You work for … Answer briefly.``
"""

import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import orjson

from traces.core.canonical import digest, digest_bytes
from traces.core.json_types import JSONObject, JSONValue
from traces.provenance.output_placements import Reading
from traces.provenance.short_values import Source, Span, ValueIndex, words_of
from traces.provenance.text_index import TextIndex

MAX_PATH: Final = 200
MAX_ITEMS: Final = 32  # of one step: those that appeared last
_SNIPPET: Final = 100
_GAP: Final = "…"
_FRAME: Final = 2  # words around values that are no content of their own: `Queue: billing`


@dataclass(frozen=True, kw_only=True, slots=True)
class Unexplained:
    """Content at `path` of an input whose origin is not known, first seen in the input of step `since`.

    `digest` names the place and the content, with gaps for the values in it that are explained.
    """

    path: str
    since: int
    snippet: str
    digest: str

    def as_json(self) -> JSONObject:
        """The item as it is stored."""
        return {"path": self.path, "since": self.since, "snippet": self.snippet, "digest": self.digest}


def from_json(items: Iterable[JSONObject]) -> tuple[Unexplained, ...]:
    """Stored items; raises `ValueError` or `TypeError` for what is none."""
    return tuple(
        Unexplained(
            path=str(item["path"]),
            since=int(str(item["since"])),
            snippet=str(item["snippet"]),
            digest=str(item["digest"]),
        )
        for item in items
    )


@dataclass(frozen=True, slots=True)
class _Analysis:
    """What a text holds of earlier outputs, as it was when the text appeared first."""

    spans: tuple[Span, ...]
    repeated: Sequence[tuple[int, int]]  # places whose words stand in a row in some output
    rest: str  # empty: all of it is explained


@dataclass(slots=True)
class Origins:
    """The contents of all inputs so far, in the order of the steps."""

    texts: TextIndex
    values: ValueIndex = field(default_factory=ValueIndex)
    _analyses: dict[tuple[str, str], _Analysis] = field(default_factory=dict)
    _since: dict[str, int] = field(default_factory=dict)
    _digests: dict[tuple[str, str], str] = field(default_factory=dict)

    def learn(self, no: int, items: Iterable[Unexplained]) -> None:
        """Take over what is known of the input of step `no`."""
        for item in items:
            self._since.setdefault(item.digest, min(item.since, no))

    def text(
        self, no: int, path: str, shape: str, text: str, reading: Reading
    ) -> tuple[list[Source], list[Unexplained]]:
        """The steps whose values stand in a text of the input of step `no`, and what of the text is unexplained."""
        analysis = self._analysis(shape, text, reply=reading.reply)
        sources: list[Source] = []
        traced: list[Span] = []
        for span in analysis.spans:
            seen = [source for source in self.values.sources(span) if not reading.hides(source.producer, source.text)]
            sources += [source for source in seen if source.producer < no]
            traced += [span] if seen else []
        rest = analysis.rest if len(traced) == len(analysis.spans) else _rest(text, _covered(traced, analysis.repeated))
        return sources, [self.item(no, path, shape, rest)] if rest else []

    def item(self, no: int, path: str, shape: str, content: str) -> Unexplained:
        """Content of unknown origin in the input of step `no`."""
        known = self._digests.get((shape, content))
        if known is None:
            known = self._digests[shape, content] = digest([shape, content])[:32]
        since = self._since.setdefault(known, no)
        return Unexplained(path=fitting(path), since=since, snippet=_cut(content), digest=known)

    @staticmethod
    def digest_of(value: JSONValue) -> str:
        """A name of part of a request."""
        try:
            return digest_bytes(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))
        except orjson.JSONEncodeError:  # numbers of more than 64 bits
            return digest(value)

    def _analysis(self, shape: str, text: str, *, reply: bool) -> _Analysis:
        """Looked at once: a text that stood in an input before came from no later output.

        A single word is looked at each time: it may well come from another step than the last time.
        """
        if (known := self._analyses.get((shape, text))) is not None:
            return known
        repeated = self.texts.covers(text)
        spans = tuple(span for span in self.values.find(text, reply=reply) if not _is_within(span, repeated))
        made = _Analysis(spans, repeated, _rest(text, _covered(spans, repeated)))
        if len(words_of(text[:200])) > 1:
            self._analyses[shape, text] = made
        return made


def fitting(path: str) -> str:
    """The path, or that of the nearest value around it which a column can hold: PostgreSQL holds no NUL."""
    held = path[: MAX_PATH + 1].partition("\x00")[0]
    return path if len(held) == len(path) <= MAX_PATH else held.rpartition("/")[0]


def newest(items: Iterable[Unexplained]) -> tuple[Unexplained, ...]:
    """At most so many as are kept: those that appeared last, in their order."""
    found = list(items)
    if len(found) <= MAX_ITEMS:
        return tuple(found)
    kept = sorted(range(len(found)), key=lambda at: -found[at].since)[:MAX_ITEMS]
    return tuple(found[at] for at in sorted(kept))


def leaves(value: JSONValue, path: str, shape: str) -> Iterator[tuple[str, str, JSONValue]]:
    """Every scalar in a value with its path, and its path whatever its places in lists are."""
    if isinstance(value, dict):
        for key, item in value.items():
            name = key.replace("~", "~0").replace("/", "~1")
            yield from leaves(item, f"{path}/{name}", f"{shape}/{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, f"{path}/{index}", f"{shape}/*")
    elif value is not None and value != "":
        yield path, shape, value


def _is_within(span: Span, places: Sequence[tuple[int, int]]) -> bool:
    """Whether the words around a value were repeated together with it."""
    at = bisect_right(places, (span.start, sys.maxsize)) - 1
    return at >= 0 and span.end <= places[at][1]


def _covered(spans: Iterable[Span], repeated: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    return [*((span.start, span.end) for span in spans), *repeated]


def _rest(text: str, covered: Sequence[tuple[int, int]]) -> str:
    """What of a text no value covers; empty where that is nothing but a frame around values."""
    if not covered:
        return text if words_of(text) else ""
    pieces: list[str] = []
    at = 0
    for start, end in sorted(covered):
        piece = text[at:start].strip()
        if piece or not pieces:
            pieces.append(piece)
        at = max(at, end)
    pieces.append(text[at:].strip())
    # A word of a script without spaces counts as many as it has characters.
    words = sum(1 if word.isascii() else len(word) for piece in pieces for word in words_of(piece))
    return _GAP.join(pieces) if words > _FRAME else ""


def _cut(text: str) -> str:
    plain = " ".join(text[: 2 * _SNIPPET].split()).replace("\x00", "\ufffd")
    return plain if len(plain) <= _SNIPPET else plain[: _SNIPPET - 1] + "…"
