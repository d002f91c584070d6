"""Payloads in parts: the stored form, and how to join it.

An agent repeats its history in every model request, so payloads are cut at known joints and each part is
stored once: every message, tool schema and retrieved document, every long text, and every full block of a
long list. `{"$part": "<sha256>"}` replaces a part. Equal payloads have equal digests, and a conversation that
grows by one message adds one message and a few references.

A long list is `{"$blocks": [level, ..., level]}`: the last level contains the entries that do not fill a block
yet, each level before it references to full blocks of the level after it. So a list of n entries contains about
`BLOCK * log(n)` references, and shares all full blocks with the list that it grew from.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from traces.core.canonical import canonical_bytes, digest_bytes
from traces.core.json_access import as_list, as_object, member
from traces.core.json_types import JSONObject, JSONValue
from traces.errors import ArtifactMissing

# In characters; shorter texts cost less inline than a reference and a row.
LONG_TEXT: Final = 4096
# Entries per block: few, because every version of a list repeats half a block per level.
BLOCK: Final = 8
PART: Final = "$part"
BLOCKS: Final = "$blocks"
LITERAL: Final = "$literal"


class MissingPart(ArtifactMissing, LookupError):
    """A payload refers to a part that is missing or damaged."""

    def __init__(self, digest: str) -> None:
        super().__init__(digest, "missing or damaged")
        self.digest = digest


def references(value: JSONValue) -> list[str]:
    """Return the digests that a stored value refers to directly, in order."""
    digests: list[str] = []
    _collect_references(value, digests)
    return digests


def join(digest: str, load: Callable[[Iterable[str]], Mapping[str, JSONValue]]) -> JSONValue:
    """Return the whole value named `digest`; `load` returns stored values by digest and is called once per level."""
    store = fetch_closure([digest], load)
    return assemble(store[digest], store)


def join_many(digests: Iterable[str], load: Callable[[Iterable[str]], Mapping[str, JSONValue]]) -> dict[str, JSONValue]:
    """Return the whole values by digest. They share equal parts as one object: do not modify them."""
    return Joiner(load).join(digests)


class Joiner:
    """Joins values one after another; a part that several share is loaded once and is one object in all of them."""

    def __init__(self, load: Callable[[Iterable[str]], Mapping[str, JSONValue]]) -> None:
        self._load = load
        self._store: dict[str, JSONValue] = {}
        self._whole: dict[str, JSONValue] = {}

    def join(self, digests: Iterable[str]) -> dict[str, JSONValue]:
        """Return the whole values by digest; raise `MissingPart`."""
        roots = list(dict.fromkeys(digests))
        self.fetch(roots)
        return assemble_all(roots, self._store, self._whole)

    def fetch(self, digests: Iterable[str]) -> None:
        """Load values and everything they refer to, without joining them; raise `MissingPart`."""
        fetch_closure(digests, self._load, self._store)

    def value(self, digest: str) -> JSONValue:
        """Return a fetched value; raise `MissingPart`."""
        return _whole(digest, self._store, self._whole)

    def tail(self, digest: str, name: str, start: int) -> list[JSONValue]:
        """Return the entries of list `name` of a fetched object from index `start` on, without joining the others."""
        root = self._store[digest]
        value = root.get(name) if isinstance(root, dict) else None
        if LITERAL in as_object(root) or not (isinstance(value, list) or BLOCKS in as_object(value)):
            return as_list(member(self.value(digest), name))[start:]
        levels = as_list(as_object(value).get(BLOCKS, [value]))
        return _assemble_blocks(levels, self._store, self._whole, start=start)


def fetch_closure(
    digests: Iterable[str],
    load: Callable[[Iterable[str]], Mapping[str, JSONValue]],
    closure: dict[str, JSONValue] | None = None,
) -> dict[str, JSONValue]:
    """Load the stored values of `digests` and of everything they refer to, with one call of `load` per level.

    `closure` contains values that are loaded already, with everything they refer to; it is extended.
    """
    closure = {} if closure is None else closure
    # Not a difference of sets, which would iterate over the whole closure.
    level = {digest for digest in digests if digest not in closure}
    while level:
        values = load(level)
        for missing in level - values.keys():
            raise MissingPart(missing)
        closure.update(values)
        level = {ref for value in values.values() for ref in references(value) if ref not in closure}
    return closure


def assemble_all(
    digests: Iterable[str], store: Mapping[str, JSONValue], whole: dict[str, JSONValue]
) -> dict[str, JSONValue]:
    """Return the whole values by digest; `whole` caches values and parts that are assembled already."""
    return {digest: _whole(digest, store, whole) for digest in digests}


def assemble(value: JSONValue, store: Mapping[str, JSONValue]) -> JSONValue:
    """Return `value` with every reference replaced by the part it names."""
    return _assemble(value, store, {})


def entries(value: JSONValue, store: Mapping[str, JSONValue]) -> list[JSONValue]:
    """Return the entries of a stored list: its blocks are resolved, its parts stay references."""
    if not (isinstance(value, dict) and BLOCKS in value):
        return list(as_list(value))
    levels = as_list(value[BLOCKS])
    items: list[JSONValue] = []
    for position, level in enumerate(levels):
        items += _resolve_blocks(as_list(level), len(levels) - 1 - position, store)
    return items


def _assemble(value: JSONValue, store: Mapping[str, JSONValue], whole: dict[str, JSONValue]) -> JSONValue:
    if isinstance(value, list):
        return [_assemble(item, store, whole) for item in value]
    if not isinstance(value, dict):
        return value
    part = value.get(PART)
    if isinstance(part, str):
        return _whole(part, store, whole)
    if BLOCKS in value:
        return _assemble_blocks(as_list(value[BLOCKS]), store, whole)
    if LITERAL in value:
        inner = value[LITERAL]
        return _assemble_members(inner, store, whole) if isinstance(inner, dict) else inner
    return _assemble_members(value, store, whole)


def _assemble_blocks(
    levels: list[JSONValue], store: Mapping[str, JSONValue], whole: dict[str, JSONValue], start: int = 0
) -> list[JSONValue]:
    """Return the values of a list from index `start` on."""
    items: list[JSONValue] = []
    for position, level in enumerate(levels):
        height = len(levels) - 1 - position
        for entry in as_list(level):
            if start >= BLOCK**height:
                start -= BLOCK**height
                continue
            if height:
                items += _whole_block(_ref(entry), height, store, whole)[start:]
            else:
                items.append(_assemble(entry, store, whole))
            start = 0
    return items


def _whole_block(
    digest: str, height: int, store: Mapping[str, JSONValue], whole: dict[str, JSONValue]
) -> list[JSONValue]:
    """Return the values under a block, joined once for all versions of a list that share it."""
    key = f"{digest} {height}"
    if key not in whole:
        if digest not in store:
            raise MissingPart(digest)
        whole[key] = _assemble_blocks([as_list(store[digest]), *([] for _ in range(height - 1))], store, whole)
    return as_list(whole[key])


def _assemble_members(value: JSONObject, store: Mapping[str, JSONValue], whole: dict[str, JSONValue]) -> JSONObject:
    return {key: _assemble(item, store, whole) for key, item in value.items()}


def _whole(digest: str, store: Mapping[str, JSONValue], whole: dict[str, JSONValue]) -> JSONValue:
    if digest not in whole:
        if digest not in store:
            raise MissingPart(digest)
        whole[digest] = _assemble(store[digest], store, whole)
    return whole[digest]


def _resolve_blocks(refs: list[JSONValue], height: int, store: Mapping[str, JSONValue]) -> list[JSONValue]:
    """Return the entries under references to blocks of `height`; at height 0 they are the entries."""
    for _ in range(height):
        refs = [entry for ref in refs for entry in _block_of(ref, store)]
    return refs


def _block_of(ref: JSONValue, store: Mapping[str, JSONValue]) -> list[JSONValue]:
    digest = _ref(ref)
    if digest not in store:
        raise MissingPart(digest)
    return as_list(store[digest])


def _collect_references(value: JSONValue, digests: list[str]) -> None:
    if isinstance(value, dict):
        part = value.get(PART)
        if isinstance(part, str):
            digests.append(part)
            return
        inner = value.get(LITERAL, value)
        items: Iterable[JSONValue] = inner.values() if isinstance(inner, dict) else ()
    else:
        items = as_list(value)
    for item in items:
        # Most values are texts, numbers and references; a call for each of them would take most of the time.
        if isinstance(item, str):
            continue
        if isinstance(item, dict) and isinstance(part := item.get(PART), str):
            digests.append(part)
        elif isinstance(item, (dict, list)):
            _collect_references(item, digests)


def _ref(value: JSONValue) -> str:
    if isinstance(value, dict) and isinstance(part := value.get(PART), str):
        return part
    return digest_bytes(canonical_bytes(value))
