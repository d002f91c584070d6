"""Finds which earlier texts a text repeats, in time linear in the texts."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice, repeat
from typing import Final

SHINGLE: Final = 6  # words in a row that two texts hardly share by chance
MAX_WORDS: Final = 20_000  # of one text; the rest of a longer one is not indexed
MAX_PRODUCERS: Final = 8  # different steps that one text is traced to
Origin = tuple[int, str]  # a producer and the path of a text in its output
_WORD: Final = re.compile(r"\w+")
_SHORTEST: Final = 3
_SHORTEST_PLAIN: Final = 8  # without a digit: shorter words are everywhere


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A text of `producer` at `path`; `whole` when the texts are equal."""

    producer: int
    path: str
    snippet: str
    whole: bool


def distinctive(text: str) -> bool:
    """Whether the same text twice is hardly chance: not `ok`, `true` or `12`."""
    if len(text) >= _SHORTEST_PLAIN:
        return True
    return len(text) >= _SHORTEST and any(character.isdigit() for character in text)


@dataclass(slots=True)
class TextIndex:
    """Texts by value and by their runs of words.

    Of several producers of one text the latest wins; a text that holds it several times has as many of them.
    """

    _values: dict[str, list[Origin]] = field(default_factory=dict)
    _shingles: dict[int, tuple[Origin, str]] = field(default_factory=dict)

    def add(self, text: str, producer: int, path: str) -> None:
        origin, value = (producer, path), text.strip()
        self._values.setdefault(value, []).append(origin)
        self._shingles.update(zip(_shingles(text), repeat((origin, value)), strict=False))

    def find(self, text: str) -> Iterator[Found]:
        """The producer of an equal text, else those that share a run of words, in the order of the text."""
        owners = self._values.get(text.strip())
        if owners is not None:
            producer, path = owners[-1]
            yield Found(producer=producer, path=path, snippet=text, whole=True)
            return
        seen: set[int] = set()
        for at, shared in enumerate(map(self._shingles.get, _shingles(text))):
            if shared is None or shared[0][0] in seen:
                continue
            for producer, path in self._alike(*shared, text):
                seen.add(producer)
                yield Found(producer=producer, path=path, snippet=_words_from(text, at), whole=False)
                if len(seen) >= MAX_PRODUCERS:
                    return

    def covers(self, text: str) -> list[tuple[int, int]]:
        """The places in a text whose words stand in a row in some output, none touching another."""
        if text.strip() in self._values:
            return [(0, len(text))]
        at = [place for place, shingle in enumerate(_shingles(text)) if shingle in self._shingles]
        if not at:
            return []
        words = list(islice(_WORD.finditer(text), MAX_WORDS))
        found: list[tuple[int, int]] = []
        for place in (place for place in at if place < len(words)):  # lower case can have more words
            start, end = words[place].start(), words[min(place + SHINGLE, len(words)) - 1].end()
            if found and start <= found[-1][1]:
                found[-1] = (found[-1][0], end)
            else:
                found.append((start, end))
        return found

    def _alike(self, latest: Origin, value: str, text: str) -> list[Origin]:
        """Who said the same: as many as `text` repeats it, in the order in which they said it."""
        owners = self._values[value]
        if len(owners) == 1:
            return [latest]
        times = text.count(value)
        return owners[-times:] if times > 1 else [latest]


def _shingles(text: str) -> Iterator[int]:
    """The hash of every run of `SHINGLE` words, in order; made without a loop in Python, for it is most of the work."""
    if len(text) < 2 * SHINGLE - 1:
        return iter(())  # too short for so many words
    words = _WORD.findall(text.lower())[:MAX_WORDS]
    return map(hash, zip(*(words[start:] for start in range(SHINGLE)), strict=False))


def _words_from(text: str, at: int) -> str:
    """The run of words at a place, as it is written in the text."""
    words = list(islice(_WORD.finditer(text), at, at + SHINGLE))
    return text[words[0].start() : words[-1].end()] if words else ""
