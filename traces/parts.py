"""Payloads in parts.

An agent repeats its history in every model request, so payloads are cut at known joints and each part is
stored once: every message, tool schema and retrieved document, every long text, and every full block of a
long list. `{"$part": "<sha256>"}` stands in the place of a part. Equal payloads have equal digests, and a
conversation that grows by one message adds one message and a few references.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from traces.canonical import canonical_bytes, digest_bytes
from traces.json_types import JSONObject, JSONValue

LONG_TEXT: Final = 4096  # characters; shorter texts cost less inline than a reference and a row
BLOCK: Final = 32  # entries of a list in one block: two levels hold a conversation of 1,000 messages
_PART: Final = "$part"
_BLOCKS: Final = "$blocks"
_LITERAL: Final = "$literal"
_RESERVED: Final = frozenset({_PART, _BLOCKS, _LITERAL})
_JOINTS: Final = frozenset({"messages", "tools", "documents"})  # lists whose items are parts
_SINGLE_JOINTS: Final = frozenset({"message"})  # objects that are a part


@dataclass(frozen=True, kw_only=True, slots=True)
class SplitPayload:
    """The root digest, and the bytes of every part by digest, the root's among them."""

    digest: str
    parts: dict[str, bytes] = field(default_factory=dict)


class MissingPart(LookupError):
    """A payload refers to a part that is not there."""

    def __init__(self, digest: str) -> None:
        super().__init__(f"artifact {digest} is missing")
        self.digest = digest


def split(value: JSONValue) -> SplitPayload:
    """Cut `value` at its joints; raises `NotCanonical` for what is not JSON."""
    parts: dict[str, bytes] = {}
    root = _store(_cut(value, parts), parts)
    return SplitPayload(digest=root, parts=parts)


def references(value: JSONValue) -> Iterator[str]:
    """The digests that a stored value refers to directly, in order."""
    if isinstance(value, dict):
        part = value.get(_PART)
        if isinstance(part, str):
            yield part
            return
        if _LITERAL in value:
            value = value[_LITERAL]
            yield from _each(value.values() if isinstance(value, dict) else ())
            return
        yield from _each(value.values())
    elif isinstance(value, list):
        yield from _each(value)


def join(digest: str, load: Callable[[Iterable[str]], Mapping[str, JSONValue]]) -> JSONValue:
    """The whole value named `digest`; `load` returns stored values by digest, and is called once a level."""
    stored = fetch_closure([digest], load)
    return assemble(stored[digest], stored)


def fetch_closure(
    digests: Iterable[str], load: Callable[[Iterable[str]], Mapping[str, JSONValue]]
) -> dict[str, JSONValue]:
    """The stored values of `digests` and of all that they refer to; one call of `load` for each level."""
    stored: dict[str, JSONValue] = {}
    wanted = set(digests)
    while wanted:
        found = load(wanted)
        for missing in wanted - found.keys():
            raise MissingPart(missing)
        stored.update(found)
        wanted = {ref for value in found.values() for ref in references(value)} - stored.keys()
    return stored


def assemble(value: JSONValue, stored: Mapping[str, JSONValue]) -> JSONValue:
    """`value` with every reference replaced by what it names."""
    if isinstance(value, list):
        return [assemble(item, stored) for item in value]
    if not isinstance(value, dict):
        return value
    part = value.get(_PART)
    if isinstance(part, str):
        if part not in stored:
            raise MissingPart(part)
        return assemble(stored[part], stored)
    if _BLOCKS in value:
        return [item for block in _list(assemble(value[_BLOCKS], stored)) for item in _list(block)]
    if _LITERAL in value:
        inner = value[_LITERAL]
        return {key: assemble(item, stored) for key, item in inner.items()} if isinstance(inner, dict) else inner
    return {key: assemble(item, stored) for key, item in value.items()}


def entries(value: JSONValue, stored: Mapping[str, JSONValue]) -> list[JSONValue]:
    """The entries of a stored list with its blocks opened but its parts still references."""
    if isinstance(value, dict) and _BLOCKS in value:
        blocks = entries(value[_BLOCKS], stored)
        return [entry for block in blocks for entry in _list(stored[_ref(block)])]
    return list(_list(value))


def entry_digests(value: JSONValue, stored: Mapping[str, JSONValue]) -> list[str]:
    """The digests of the parts that a stored list is made of: what a list diff compares."""
    return [_ref(entry) for entry in entries(value, stored)]


def _each(values: Iterable[JSONValue]) -> Iterator[str]:
    for value in values:
        yield from references(value)


def _cut(value: JSONValue, parts: dict[str, bytes]) -> JSONValue:
    if isinstance(value, str):
        return _reference(value, parts) if len(value) > LONG_TEXT else value
    if isinstance(value, list):
        return [_cut(item, parts) for item in value]
    if isinstance(value, dict):
        cut: JSONObject = {key: _cut_member(key, item, parts) for key, item in value.items()}
        return {_LITERAL: cut} if not _RESERVED.isdisjoint(cut) else cut
    return value


def _cut_member(key: str, value: JSONValue, parts: dict[str, bytes]) -> JSONValue:
    if key in _JOINTS and isinstance(value, list):
        return _cut_list([_reference(_cut(item, parts), parts) for item in value], parts)
    if key in _SINGLE_JOINTS and isinstance(value, dict):
        return _reference(_cut(value, parts), parts)
    return _cut(value, parts)


def _cut_list(items: list[JSONValue], parts: dict[str, bytes]) -> JSONValue:
    """A long list as references to its full blocks, the rest as a last block: a tree that grows at its end."""
    if len(items) <= 2 * BLOCK:
        return items
    blocks = [_reference(items[at : at + BLOCK], parts) for at in range(0, len(items), BLOCK)]
    return {_BLOCKS: _cut_list(blocks, parts)}


def _reference(cut: JSONValue, parts: dict[str, bytes]) -> JSONValue:
    return {_PART: _store(cut, parts)}


def _store(cut: JSONValue, parts: dict[str, bytes]) -> str:
    data = canonical_bytes(cut)
    name = digest_bytes(data)
    parts[name] = data
    return name


def _list(value: JSONValue) -> list[JSONValue]:
    return value if isinstance(value, list) else []


def _ref(value: JSONValue) -> str:
    if isinstance(value, dict) and isinstance(part := value.get(_PART), str):
        return part
    return digest_bytes(canonical_bytes(value))
