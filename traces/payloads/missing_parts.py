"""Payloads with missing or damaged parts: a placeholder replaces each such part, the rest stays readable. Pure.

Example: in a request whose second message is lost, the other messages are unchanged, and the second is
`{"$unavailable": "<sha256>", "role": "unavailable", "content": "[unavailable: artifact <sha256> ...]"}`.
The placeholder of a text is a text. A payload that is lost as a whole has no placeholder: it is absent.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from traces.core.json_access import as_object, as_string
from traces.core.json_types import JSONValue
from traces.core.json_walk import children
from traces.payloads.parts import BLOCK, BLOCKS, LITERAL, PART, assemble_all, references

UNAVAILABLE: Final = "$unavailable"
ROLE: Final = "unavailable"
# Members whose parts are objects.
_OBJECTS: Final = frozenset({"messages", "message", "documents", "tools"})
_TEXT: Final = "[unavailable: artifact "
_END: Final = " is missing or damaged]"
# A digest, the member that contains it, and the number of block levels below it.
_Place = tuple[str, str, int]
Load = Callable[[Iterable[str]], Mapping[str, JSONValue]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Readable:
    """Values by digest, with placeholders in the `partial` ones; values that are lost as a whole are absent."""

    values: dict[str, JSONValue]
    partial: frozenset[str] = frozenset()
    # Parts and whole values.
    lost_digests: frozenset[str] = frozenset()

    def lacks(self, digest: str) -> bool:
        """True if a value is missing or incomplete."""
        return bool(digest) and (digest not in self.values or digest in self.partial)


def readable(digests: Iterable[str], load: Load) -> Readable:
    """Load the values of `digests` as far as they can be read."""
    roots = set(digests)
    stored_values = _closure(roots, load)
    queue: list[_Place] = []
    for digest in roots & stored_values.keys():
        queue += _places(stored_values[digest], "")
    visits: set[_Place] = set()
    lost_digests = roots - stored_values.keys()
    while queue:
        place = queue.pop()
        if place in visits:
            continue
        visits.add(place)
        digest, member, height = place
        if digest not in stored_values:
            lost_digests.add(digest)
            stored_values.update(_placeholders(digest, member, height))
        elif height:
            queue += [(part, name, height - 1) for part, name, _ in _places(stored_values[digest], member)]
        else:
            queue += _places(stored_values[digest], "")
    values = assemble_all(roots - lost_digests, stored_values, {})
    partial = (digest for digest, value in values.items() if lost_digests and any(placeholder_digests(value)))
    return Readable(values=values, partial=frozenset(partial), lost_digests=frozenset(lost_digests))


def placeholder_digests(value: JSONValue) -> Iterator[str]:
    """Yield the digests of the parts that placeholders in a value replace."""
    if digest := _lost_digest(value):
        yield digest
        return
    for item in children(value):
        yield from placeholder_digests(item)


def comparable(base: JSONValue, candidate: JSONValue, lost_digests: set[str]) -> tuple[JSONValue, JSONValue]:
    """Put the same placeholder into both values wherever a part of either is lost: a loss is not a difference.

    Add the digests of these parts to `lost_digests`. A part that both share is one object, and is skipped.
    """
    if base is candidate or not any(map(_may_have_placeholder, (base, candidate))):
        return base, candidate
    for value in (base, candidate):
        if digest := _lost_digest(value):
            lost_digests.add(digest)
            return value, value
    if isinstance(base, dict) and isinstance(candidate, dict):
        pairs = {key: comparable(base[key], candidate[key], lost_digests) for key in base.keys() & candidate.keys()}
        base = {key: pairs[key][0] if key in pairs else value for key, value in base.items()}
        return base, {key: pairs[key][1] if key in pairs else value for key, value in candidate.items()}
    if isinstance(base, list) and isinstance(candidate, list):
        items = [comparable(left, right, lost_digests) for left, right in zip(base, candidate, strict=False)]
        lefts, rights = [left for left, _ in items], [right for _, right in items]
        return [*lefts, *base[len(items) :]], [*rights, *candidate[len(items) :]]
    return base, candidate


def _may_have_placeholder(value: JSONValue) -> bool:
    """False if no part of a value is lost. A plain loop: a value has thousands of parts, and hardly ever lost ones."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            if item.startswith(_TEXT):
                return True
        elif isinstance(item, dict):
            if UNAVAILABLE in item:
                return True
            stack += item.values()
        elif isinstance(item, list):
            stack += item
    return False


def _lost_digest(value: JSONValue) -> str:
    """Return the digest of the lost part whose placeholder `value` is; empty if it is none."""
    text = as_string(value)
    if text.startswith(_TEXT) and text.endswith(_END):
        return text.removeprefix(_TEXT).removesuffix(_END)
    return as_string(as_object(value).get(UNAVAILABLE))


def _closure(digests: set[str], load: Load) -> dict[str, JSONValue]:
    closure: dict[str, JSONValue] = {}
    requests: set[str] = set()
    level = digests
    while level:
        requests |= level
        values = load(level)
        closure.update(values)
        level = {ref for value in values.values() for ref in references(value)} - requests
    return closure


def _places(value: JSONValue, member: str) -> Iterator[_Place]:
    """Yield the places at which a stored value refers to parts."""
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


def _placeholders(digest: str, member: str, height: int) -> dict[str, JSONValue]:
    """Return stored values that replace a lost part. A lost block counts as a full one."""
    if not height:
        return {digest: placeholder(digest, member)}
    entries: list[JSONValue] = [placeholder(digest, member)] * BLOCK
    blocks: dict[str, JSONValue] = {digest: entries}
    for level in range(1, height):
        child = f"{digest} {level}"
        blocks[child] = blocks[digest]
        blocks[digest] = [{PART: child}] * BLOCK
    return blocks


def placeholder(digest: str, member: str) -> JSONValue:
    """Return what replaces a lost part of a member, such as `messages`."""
    text = f"{_TEXT}{digest}{_END}"
    if member == "tools":
        return {UNAVAILABLE: digest, "name": ROLE, "description": text}
    if member in _OBJECTS:
        return {UNAVAILABLE: digest, "role": ROLE, "content": text}
    return text
