"""Payloads in parts.

An agent repeats its history in every model request, so payloads are cut at known joints and each part is
stored once: every message, tool schema and retrieved document, every long text, and every full block of a
long list. `{"$part": "<sha256>"}` stands in the place of a part. Equal payloads have equal digests, and a
conversation that grows by one message adds one message and a few references.

A long list is `{"$blocks": [level, ..., level]}`: the last level holds the entries that do not fill a block
yet, each level before it references to full blocks of the level after it. So a list of n entries names some
`BLOCK * log(n)` references, and all full blocks are shared with the list that it grew from.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from traces.core.canonical import canonical_bytes, digest_bytes
from traces.core.json_types import JSONObject, JSONValue
from traces.errors import ArtifactMissing

LONG_TEXT: Final = 4096  # characters; shorter texts cost less inline than a reference and a row
BLOCK: Final = 8  # entries of a block: few, because every version of a list repeats half a block for each level
PART: Final = "$part"
BLOCKS: Final = "$blocks"
LITERAL: Final = "$literal"


class MissingPart(ArtifactMissing, LookupError):
    """A payload refers to a part that is not there, or whose bytes are damaged."""

    def __init__(self, digest: str) -> None:
        super().__init__(digest, "missing or damaged")
        self.digest = digest


def references(value: JSONValue) -> Iterator[str]:
    """The digests that a stored value refers to directly, in order."""
    if isinstance(value, dict):
        part = value.get(PART)
        if isinstance(part, str):
            yield part
            return
        if LITERAL in value:
            value = value[LITERAL]
            yield from _each(value.values() if isinstance(value, dict) else ())
            return
        yield from _each(value.values())
    elif isinstance(value, list):
        yield from _each(value)


def join(digest: str, load: Callable[[Iterable[str]], Mapping[str, JSONValue]]) -> JSONValue:
    """The whole value named `digest`; `load` returns stored values by digest, and is called once a level."""
    stored = fetch_closure([digest], load)
    return assemble(stored[digest], stored)


def join_many(digests: Iterable[str], load: Callable[[Iterable[str]], Mapping[str, JSONValue]]) -> dict[str, JSONValue]:
    """The whole values by digest. Equal parts are one object in all of them: read, never change."""
    return Joiner(load).join(digests)


class Joiner:
    """Joins values one after another; a part that several of them share is loaded once, and one object in all."""

    def __init__(self, load: Callable[[Iterable[str]], Mapping[str, JSONValue]]) -> None:
        self._load = load
        self._stored: dict[str, JSONValue] = {}
        self._whole: dict[str, JSONValue] = {}

    def join(self, digests: Iterable[str]) -> dict[str, JSONValue]:
        """The whole values by digest; raises `MissingPart`."""
        wanted = list(dict.fromkeys(digests))
        fetch_closure(wanted, self._load, self._stored)
        return assemble_all(wanted, self._stored, self._whole)


def fetch_closure(
    digests: Iterable[str],
    load: Callable[[Iterable[str]], Mapping[str, JSONValue]],
    stored: dict[str, JSONValue] | None = None,
) -> dict[str, JSONValue]:
    """The stored values of `digests` and of all that they refer to; one call of `load` for each level.

    `stored` are those that are known already with all that they refer to; it grows.
    """
    stored = {} if stored is None else stored
    # Not by a difference of sets, which would look at all that is stored.
    wanted = {digest for digest in digests if digest not in stored}
    while wanted:
        found = load(wanted)
        for missing in wanted - found.keys():
            raise MissingPart(missing)
        stored.update(found)
        wanted = {ref for value in found.values() for ref in references(value) if ref not in stored}
    return stored


def assemble_all(
    digests: Iterable[str], stored: Mapping[str, JSONValue], whole: dict[str, JSONValue]
) -> dict[str, JSONValue]:
    """The whole values by digest; `whole` are those and their parts that are known already, and grows."""
    return {digest: _whole(digest, stored, whole) for digest in digests}


def assemble(value: JSONValue, stored: Mapping[str, JSONValue]) -> JSONValue:
    """`value` with every reference replaced by what it names."""
    return _assemble(value, stored, {})


def entries(value: JSONValue, stored: Mapping[str, JSONValue]) -> list[JSONValue]:
    """The entries of a stored list with its blocks opened but its parts still references."""
    if not (isinstance(value, dict) and BLOCKS in value):
        return list(_list(value))
    levels = _list(value[BLOCKS])
    found: list[JSONValue] = []
    for position, level in enumerate(levels):
        found += _opened(_list(level), len(levels) - 1 - position, stored)
    return found


def _assemble(value: JSONValue, stored: Mapping[str, JSONValue], whole: dict[str, JSONValue]) -> JSONValue:
    if isinstance(value, list):
        return [_assemble(item, stored, whole) for item in value]
    if not isinstance(value, dict):
        return value
    part = value.get(PART)
    if isinstance(part, str):
        return _whole(part, stored, whole)
    if BLOCKS in value:
        return _assemble_blocks(_list(value[BLOCKS]), stored, whole)
    if LITERAL in value:
        inner = value[LITERAL]
        return _assemble_members(inner, stored, whole) if isinstance(inner, dict) else inner
    return _assemble_members(value, stored, whole)


def _assemble_blocks(
    levels: list[JSONValue], stored: Mapping[str, JSONValue], whole: dict[str, JSONValue]
) -> list[JSONValue]:
    found: list[JSONValue] = []
    for position, level in enumerate(levels):
        height = len(levels) - 1 - position
        for entry in _list(level):
            if height:
                found += _whole_block(_ref(entry), height, stored, whole)
            else:
                found.append(_assemble(entry, stored, whole))
    return found


def _whole_block(
    digest: str, height: int, stored: Mapping[str, JSONValue], whole: dict[str, JSONValue]
) -> list[JSONValue]:
    """The values under a block, joined once for all versions of a list that share it."""
    key = f"{digest} {height}"
    if key not in whole:
        if digest not in stored:
            raise MissingPart(digest)
        whole[key] = _assemble_blocks([_list(stored[digest]), *([] for _ in range(height - 1))], stored, whole)
    return _list(whole[key])


def _assemble_members(value: JSONObject, stored: Mapping[str, JSONValue], whole: dict[str, JSONValue]) -> JSONObject:
    return {key: _assemble(item, stored, whole) for key, item in value.items()}


def _whole(digest: str, stored: Mapping[str, JSONValue], whole: dict[str, JSONValue]) -> JSONValue:
    if digest not in whole:
        if digest not in stored:
            raise MissingPart(digest)
        whole[digest] = _assemble(stored[digest], stored, whole)
    return whole[digest]


def _opened(refs: list[JSONValue], height: int, stored: Mapping[str, JSONValue]) -> list[JSONValue]:
    """The entries under references to blocks of `height`; at height 0 they are the entries."""
    for _ in range(height):
        refs = [entry for ref in refs for entry in _block_of(ref, stored)]
    return refs


def _block_of(ref: JSONValue, stored: Mapping[str, JSONValue]) -> list[JSONValue]:
    digest = _ref(ref)
    if digest not in stored:
        raise MissingPart(digest)
    return _list(stored[digest])


def _each(values: Iterable[JSONValue]) -> Iterator[str]:
    for value in values:
        yield from references(value)


def _list(value: JSONValue) -> list[JSONValue]:
    return value if isinstance(value, list) else []


def _ref(value: JSONValue) -> str:
    if isinstance(value, dict) and isinstance(part := value.get(PART), str):
        return part
    return digest_bytes(canonical_bytes(value))
