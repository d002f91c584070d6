"""Which recorded tool call answers a new one.

Exact: same tool, same canonical arguments; each recorded call is used once, in order. Semantic: same tool, same
argument names, and every argument alike: numbers, booleans, dates, ids, addresses, paths and enumerations must
be equal; only free text may differ, and never by a number or a negation. The similarity of a call is the lowest
of its arguments'.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Hashable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, Generic, TypeVar

from rapidfuzz import fuzz, process

from traces.canonical import digest, escape_pointer
from traces.json_types import JSONValue

Call = TypeVar("Call", bound=Hashable)

_NUMBER: Final = re.compile(r"-?(0|[1-9]\d{0,30})(\.\d{1,30})?")
_TOKEN: Final = re.compile(r"\S+")
_TRIM: Final = "\"'`.,;:!?()[]{}<>"
_NEGATIONS: Final = frozenset({
    "no", "not", "never", "none", "nothing", "nobody", "nowhere", "neither", "nor", "without", "except", "unless",
    "cannot", "false", "off", "disable", "disabled", "exclude", "excluding",
})  # fmt: skip
_DATES: Final = frozenset({
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "january", "february", "march",
    "april", "may", "june", "july", "august", "september", "october", "november", "december", "today", "tomorrow",
    "yesterday",
})  # fmt: skip
_QUANTITIES: Final = frozenset({
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "hundred", "thousand", "million", "half", "double", "all", "any", "both",
})  # fmt: skip
_FIXED: Final = _NEGATIONS | _DATES | _QUANTITIES


@dataclass(frozen=True, kw_only=True)
class Match(Generic[Call]):
    """`similarity` is 1.0 for an exact match."""

    call: Call
    similarity: float


@dataclass(frozen=True, kw_only=True)
class _Shape:
    """What must be equal for two calls to be comparable (`rigid`), and the texts that may differ, in order."""

    rigid: str
    texts: tuple[str, ...]


def _whole(tool: str, arguments: JSONValue) -> JSONValue:
    return arguments


@dataclass
class RecordedCalls(Generic[Call]):
    """The recorded calls that may answer new ones; matching one uses it up. `reduced` is what of a call is compared."""

    reduced: Callable[[str, JSONValue], JSONValue] = _whole
    _exact: dict[str, list[Call]] = field(default_factory=dict)
    _shapes: dict[str, dict[Call, tuple[str, ...]]] = field(default_factory=dict)
    _of: dict[Call, tuple[str, str]] = field(default_factory=dict)
    _last: dict[str, Call] = field(default_factory=dict)

    def add(self, call: Call, tool: str, arguments: JSONValue) -> None:
        """Calls are added in the order in which they were made."""
        exact, shape = self._key(tool, arguments), _shape(tool, self.reduced(tool, arguments))
        self._exact.setdefault(exact, []).append(call)
        self._shapes.setdefault(shape.rigid, {})[call] = shape.texts
        self._of[call] = (exact, shape.rigid)

    def use(self, call: Call) -> None:
        """Mark a call as used up; nothing happens when it was not there or was used before."""
        if (keys := self._of.pop(call, None)) is None:
            return
        exact, rigid = keys
        self._exact[exact].remove(call)
        self._last[exact] = call
        del self._shapes[rigid][call]

    def exact(self, tool: str, arguments: JSONValue) -> Match[Call] | None:
        """The next unused call with the same name and arguments."""
        waiting = self._exact.get(self._key(tool, arguments))
        return Match(call=waiting[0], similarity=1.0) if waiting else None

    def waiting(self, tool: str, arguments: JSONValue) -> list[Call]:
        """All unused calls with the same name and arguments, in order."""
        return self._exact.get(self._key(tool, arguments), [])

    def used_up(self, tool: str, arguments: JSONValue) -> Match[Call] | None:
        """The last used call with the same name and arguments: an idempotent tool would answer so again."""
        last = self._last.get(self._key(tool, arguments))
        return None if last is None else Match(call=last, similarity=1.0)

    def similar(
        self, tool: str, arguments: JSONValue, threshold: float, but: Collection[Call] = ()
    ) -> Match[Call] | None:
        """The most similar unused call at or above `threshold`, but for some; of equals, the earliest."""
        shape = _shape(tool, self.reduced(tool, arguments))
        candidates = self._shapes.get(shape.rigid, {})
        if but:
            candidates = {call: texts for call, texts in candidates.items() if call not in but}
        if not candidates:
            return None
        if not shape.texts:
            return Match(call=next(iter(candidates)), similarity=1.0)
        scores: dict[Call, float] = dict.fromkeys(candidates, 1.0)
        for position, text in enumerate(shape.texts):
            scores = _narrowed(scores, candidates, position, text, threshold)
        if not scores:
            return None
        best = max(scores, key=scores.__getitem__)
        return Match(call=best, similarity=scores[best])

    def unused(self) -> list[Call]:
        return list(self._of)

    def _key(self, tool: str, arguments: JSONValue) -> str:
        return exact_key(tool, self.reduced(tool, arguments))


def exact_key(tool: str, arguments: JSONValue) -> str:
    return digest([tool, arguments])


def similarity(recorded: JSONValue, current: JSONValue, tool: str = "") -> float:
    """The similarity of two calls of one tool by their arguments; 0.0 where something that must be equal is not."""
    before, after = _shape(tool, recorded), _shape(tool, current)
    if before.rigid != after.rigid:
        return 0.0
    return min((fuzz.ratio(one, two) / 100 for one, two in zip(before.texts, after.texts, strict=True)), default=1.0)


def _narrowed(
    scores: dict[Call, float], candidates: dict[Call, tuple[str, ...]], position: int, text: str, threshold: float
) -> dict[Call, float]:
    choices = {call: candidates[call][position] for call in scores}
    found = process.extract(text, choices, scorer=fuzz.ratio, score_cutoff=threshold * 100, limit=None)
    kept = {call: value / 100 for _, value, call in found}
    # In the order of recording, so that the earliest of equals wins.
    return {call: min(score, kept[call]) for call, score in scores.items() if call in kept}


def _shape(tool: str, arguments: JSONValue) -> _Shape:
    rigid: list[JSONValue] = [tool]
    texts: list[str] = []
    _walk(arguments, "", rigid, texts)
    return _Shape(rigid=digest(rigid), texts=tuple(texts))


def _walk(value: JSONValue, path: str, rigid: list[JSONValue], texts: list[str]) -> None:
    if isinstance(value, dict):
        rigid.append([path, "object", *sorted(value)])
        for key in sorted(value):
            _walk(value[key], f"{path}/{escape_pointer(key)}", rigid, texts)
    elif isinstance(value, list):
        rigid.append([path, "list", len(value)])
        for index, item in enumerate(value):
            _walk(item, f"{path}/{index}", rigid, texts)
    elif isinstance(value, str) and _is_free(value):
        text = _normalised(value)
        rigid.append([path, "text", *fixed_tokens(text)])
        texts.append(text)
    else:
        rigid.append([path, "value", _rigid(value)])


def _rigid(value: JSONValue) -> JSONValue:
    """Numbers by value, also when written as text, except where a leading zero makes them an id."""
    if isinstance(value, bool) or value is None:
        return value
    text = str(value)
    if isinstance(value, int | float) or _NUMBER.fullmatch(text):
        return f"number {Decimal(text).normalize():f}"
    return f"text {text}"


def _is_free(value: str) -> bool:
    """Free text has several words; a single token is a name, an id, an address, a path or one of an enumeration."""
    words = value.split()
    return len(words) > 1 and any(character.isalpha() for character in value)


def _normalised(value: str) -> str:
    return " ".join(unicodedata.normalize("NFC", value).casefold().split())


def fixed_tokens(text: str) -> Iterable[str]:
    """What has to be the same in two alike texts: numbers, ids, addresses, paths, dates, quantities and negations."""
    for token in sorted(match.group().strip(_TRIM) for match in _TOKEN.finditer(text)):
        word = token.replace("\u2019", "'")
        if word in _FIXED or word.endswith("n't") or _is_identifier(token):
            yield word


def _is_identifier(token: str) -> bool:
    return any(character.isdigit() for character in token) or "@" in token or "/" in token or "_" in token
