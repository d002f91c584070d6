"""Payloads with missing or damaged parts: a mark stands for each such part, and the rest stays readable. Pure.

Example: of a request whose second message is lost, the first and the third are what they were, and the second is
`{"$unavailable": "<sha256>", "role": "unavailable", "content": "[unavailable: artifact <sha256> ...]"}`.
In the place of a lost text stands a text. A lost payload as a whole has no mark: it is absent.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from traces.core.json_types import JSONValue
from traces.payloads.parts import BLOCK, BLOCKS, LITERAL, PART, assemble_all, references

UNAVAILABLE: Final = "$unavailable"
ROLE: Final = "unavailable"
_OBJECTS: Final = frozenset({"messages", "message", "documents", "tools"})  # whose parts are objects
_TEXT: Final = "[unavailable: artifact "
_END: Final = " is missing or damaged]"
_Place = tuple[str, str, int]  # a digest, the member that it stands in, and how many levels of blocks are below it
Load = Callable[[Iterable[str]], Mapping[str, JSONValue]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Readable:
    """Values by digest, with marks in those that are `partial`; values that are lost as a whole are absent."""

    values: dict[str, JSONValue]
    partial: frozenset[str] = frozenset()
    lost: frozenset[str] = frozenset()  # the parts, and the values as a whole

    def lacks(self, digest: str) -> bool:
        """Whether a value cannot be read, or not all of it."""
        return bool(digest) and (digest not in self.values or digest in self.partial)


def readable(digests: Iterable[str], load: Load) -> Readable:
    """The values of `digests` as far as they can be read."""
    wanted = set(digests)
    stored = _closure(wanted, load)
    waiting: list[_Place] = [place for digest in wanted if digest in stored for place in _places(stored[digest], "")]
    seen: set[_Place] = set()
    lost = wanted - stored.keys()
    while waiting:
        place = waiting.pop()
        if place in seen:
            continue
        seen.add(place)
        digest, member, height = place
        if digest not in stored:
            lost.add(digest)
            stored.update(_stand_ins(digest, member, height))
        elif height:
            waiting += [(part, name, height - 1) for part, name, _ in _places(stored[digest], member)]
        else:
            waiting += _places(stored[digest], "")
    values = assemble_all(wanted - lost, stored, {})
    partial = (digest for digest, value in values.items() if lost and any(marked(value)))
    return Readable(values=values, partial=frozenset(partial), lost=frozenset(lost))


def marked(value: JSONValue) -> Iterator[str]:
    """The digests of the parts of a value for which marks stand."""
    if isinstance(value, dict):
        if isinstance(part := value.get(UNAVAILABLE), str):
            yield part
            return
        for item in value.values():
            yield from marked(item)
    elif isinstance(value, list):
        for item in value:
            yield from marked(item)
    elif isinstance(value, str) and value.startswith(_TEXT) and value.endswith(_END):
        yield value.removeprefix(_TEXT).removesuffix(_END)


def comparable(base: JSONValue, candidate: JSONValue, lost: set[str]) -> tuple[JSONValue, JSONValue]:
    """Two values with one mark on both sides wherever a part of either is lost: what is lost is no difference.

    Adds the digests of these parts to `lost`. What both share is one object, and is not looked into.
    """
    if base is candidate:
        return base, candidate
    for value in (base, candidate):
        if parts := list(marked(value)) if _is_mark(value) else []:
            lost.update(parts)
            return value, value
    if isinstance(base, dict) and isinstance(candidate, dict):
        pairs = {key: comparable(base[key], candidate[key], lost) for key in base.keys() & candidate.keys()}
        left = {key: pairs[key][0] if key in pairs else value for key, value in base.items()}
        return left, {key: pairs[key][1] if key in pairs else value for key, value in candidate.items()}
    if isinstance(base, list) and isinstance(candidate, list):
        both = [comparable(one, other, lost) for one, other in zip(base, candidate, strict=False)]
        return [*(one for one, _ in both), *base[len(both) :]], [*(one for _, one in both), *candidate[len(both) :]]
    return base, candidate


def _is_mark(value: JSONValue) -> bool:
    """Whether a value stands for a lost part."""
    if isinstance(value, dict):
        return isinstance(value.get(UNAVAILABLE), str)
    return isinstance(value, str) and value.startswith(_TEXT) and value.endswith(_END)


def _closure(digests: set[str], load: Load) -> dict[str, JSONValue]:
    stored: dict[str, JSONValue] = {}
    asked: set[str] = set()
    wanted = digests
    while wanted:
        asked |= wanted
        found = load(wanted)
        stored.update(found)
        wanted = {ref for value in found.values() for ref in references(value)} - asked
    return stored


def _places(value: JSONValue, member: str) -> Iterator[_Place]:
    """Where a stored value refers to parts."""
    if isinstance(value, list):
        for item in value:
            yield from _places(item, member)
    if not isinstance(value, dict):
        return
    if isinstance(part := value.get(PART), str):
        yield part, member, 0
    elif isinstance(levels := value.get(BLOCKS), list):
        for height, level in enumerate(reversed(levels)):
            yield from ((part, name, height) for part, name, _ in _places(level, member))
    elif isinstance(inner := value.get(LITERAL, value), dict):
        for key, item in inner.items():
            yield from _places(item, key)


def _stand_ins(digest: str, member: str, height: int) -> dict[str, JSONValue]:
    """What is stored instead of a lost part. A lost block stands for as many entries as a full one has."""
    if not height:
        return {digest: _mark(digest, member)}
    marks: list[JSONValue] = [_mark(digest, member)] * BLOCK
    found: dict[str, JSONValue] = {digest: marks}
    for level in range(1, height):
        below = f"{digest} {level}"
        found[below] = found[digest]
        found[digest] = [{PART: below}] * BLOCK
    return found


def _mark(digest: str, member: str) -> JSONValue:
    text = f"{_TEXT}{digest}{_END}"
    if member == "tools":
        return {UNAVAILABLE: digest, "name": ROLE, "description": text}
    if member in _OBJECTS:
        return {UNAVAILABLE: digest, "role": ROLE, "content": text}
    return text
