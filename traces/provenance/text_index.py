"""Index of texts: find which earlier texts a text repeats, in time linear in the texts."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice, repeat
from typing import Final

from traces.core.step_header import step_view

# Words in a run that two texts are unlikely to share by chance.
SHINGLE: Final = 6
# Longer texts are indexed up to here.
MAX_WORDS: Final = 20_000
# Producers that one text is traced to.
MAX_PRODUCERS: Final = 8
# A producer and the path of a text in its output.
Origin = tuple[int, str]
_WORD: Final = re.compile(r"\w+")
# In characters; shorter texts without a digit are too common.
_MIN_LENGTH: Final = 3
_MIN_LENGTH_WITHOUT_DIGIT: Final = 8


@step_view
class TextMatch:
    """A text of `producer` at `path`; `is_whole` if the texts are equal."""

    producer: int
    path: str
    snippet: str
    is_whole: bool


def is_distinctive(text: str) -> bool:
    """True if two equal texts are unlikely to be a coincidence, unlike `ok`, `true` or `12`."""
    if len(text) >= _MIN_LENGTH_WITHOUT_DIGIT:
        return True
    return len(text) >= _MIN_LENGTH and any(character.isdigit() for character in text)


@dataclass(slots=True)
class TextIndex:
    """Texts by value and by their runs of words.

    Of several producers of one text, the latest wins. A text that repeats it n times is traced to the latest n.
    """

    _values: dict[str, list[Origin]] = field(default_factory=dict)
    _shingles: dict[int, tuple[Origin, str]] = field(default_factory=dict)
    # Texts whose runs of words are not in `_shingles` yet.
    _unread_texts: list[tuple[str, Origin]] = field(default_factory=list)

    def add(self, text: str, producer: int, path: str) -> None:
        origin = (producer, path)
        self._values.setdefault(text.strip(), []).append(origin)
        self._unread_texts.append((text, origin))

    def find(self, text: str) -> Iterator[TextMatch]:
        """Yield the producer of an equal text, else the producers of shared runs of words in order of appearance."""
        owners = self._values.get(text.strip())
        if owners is not None:
            producer, path = owners[-1]
            yield TextMatch(producer=producer, path=path, snippet=text, is_whole=True)
            return
        producers: set[int] = set()
        for index, entry in enumerate(self._latest_owners(text)):
            if entry is None or entry[0][0] in producers:
                continue
            for producer, path in self._producers(*entry, text):
                producers.add(producer)
                yield TextMatch(producer=producer, path=path, snippet=_words_from(text, index), is_whole=False)
                if len(producers) >= MAX_PRODUCERS:
                    return

    def covers(self, text: str) -> list[tuple[int, int]]:
        """Return the ranges of a text whose words are a run of words of some output, merged where they touch."""
        if text.strip() in self._values:
            return [(0, len(text))]
        indices = [index for index, entry in enumerate(self._latest_owners(text)) if entry is not None]
        if not indices:
            return []
        words = list(islice(_WORD.finditer(text), MAX_WORDS))
        ranges: list[tuple[int, int]] = []
        # A text can have more words in lower case than in its original case.
        for index in (index for index in indices if index < len(words)):
            start, end = words[index].start(), words[min(index + SHINGLE, len(words)) - 1].end()
            if ranges and start <= ranges[-1][1]:
                ranges[-1] = (ranges[-1][0], end)
            else:
                ranges.append((start, end))
        return ranges

    def _latest_owners(self, text: str) -> list[tuple[Origin, str] | None]:
        """Return for every run of words of a text the latest text that has it.

        The texts so far are indexed at the first look-up of a text with that many words: most inputs have fewer.
        """
        shingles = list(_shingles(text))
        if shingles:
            for unread_text, origin in self._unread_texts:
                self._shingles.update(zip(_shingles(unread_text), repeat((origin, unread_text.strip())), strict=False))
            self._unread_texts.clear()
        return [self._shingles.get(shingle) for shingle in shingles]

    def _producers(self, latest: Origin, value: str, text: str) -> list[Origin]:
        """Return the producers of `value`: as many as `text` repeats it, in the order of their steps."""
        owners = self._values[value]
        if len(owners) == 1:
            return [latest]
        times = text.count(value)
        return owners[-times:] if times > 1 else [latest]


def _shingles(text: str) -> Iterator[int]:
    """Hash every run of `SHINGLE` words, in order. There is no Python loop, because most of the time is spent here."""
    # Shorter texts cannot contain that many words.
    if len(text) < 2 * SHINGLE - 1:
        return iter(())
    words = _WORD.findall(text.lower())[:MAX_WORDS]
    return map(hash, zip(*(words[start:] for start in range(SHINGLE)), strict=False))


def _words_from(text: str, index: int) -> str:
    """Return the run of words that starts at word `index`, as written in the text."""
    words = list(islice(_WORD.finditer(text), index, index + SHINGLE))
    return text[words[0].start() : words[-1].end()] if words else ""
