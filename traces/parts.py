"""Payloads in parts.

An agent repeats its history in every model request, so payloads are cut at known joints and each part is
stored once: every message, tool schema and retrieved document, every long text, and every full block of a
long list. `{"$part": "<sha256>"}` stands in the place of a part. Equal payloads have equal digests, and a
conversation that grows by one message adds one message and a few references.

A long list is `{"$blocks": [level, ..., level]}`: the last level holds the entries that do not fill a block
yet, each level before it references to full blocks of the level after it. So a list of n entries names some
`BLOCK * log(n)` references, and all full blocks are shared with the list that it grew from.
"""

import marshal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import is_, itemgetter
from typing import Any, Final, TypeVar

from traces.canonical import MAX_DEPTH, NotCanonical, canonical_bytes, digest_bytes
from traces.conversation import Messages
from traces.growing import Digests, Growing
from traces.json_types import JSONObject, JSONValue
from traces.problems import ArtifactMissing

LONG_TEXT: Final = 4096  # characters; shorter texts cost less inline than a reference and a row
_RECENT: Final = 4  # lists whose blocks are at hand: a recorded and a rebuilt conversation take turns
BLOCK: Final = 8  # entries of a block: few, because every version of a list repeats half a block for each level
_PART: Final = "$part"
_NAMED: Final[Callable[[JSONObject], str]] = itemgetter(_PART)
_BLOCKS: Final = "$blocks"
_LITERAL: Final = "$literal"
_RESERVED: Final = frozenset({_PART, _BLOCKS, _LITERAL})
_JOINTS: Final = frozenset({"messages", "tools", "documents"})  # lists whose items are parts
Cut = TypeVar("Cut")
_SINGLE_JOINTS: Final = frozenset({"message"})  # objects that are a part


@dataclass(frozen=True, kw_only=True, slots=True)
class SplitPayload:
    """The root digest, and the bytes of every part by digest, the root's among them."""

    digest: str
    parts: dict[str, bytes] = field(default_factory=dict)


class MissingPart(ArtifactMissing, LookupError):
    """A payload refers to a part that is not there, or whose bytes are damaged."""

    def __init__(self, digest: str) -> None:
        super().__init__(digest, "missing or damaged")
        self.digest = digest


def split(value: JSONValue) -> SplitPayload:
    """Cut `value` at its joints; raises `NotCanonical` for what is not JSON."""
    splitter = Splitter()
    return SplitPayload(digest=splitter.split(value), parts=splitter.parts)


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
        return {digest: _whole(digest, self._stored, self._whole) for digest in wanted}


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


def assemble(value: JSONValue, stored: Mapping[str, JSONValue]) -> JSONValue:
    """`value` with every reference replaced by what it names."""
    return _assemble(value, stored, {})


def entries(value: JSONValue, stored: Mapping[str, JSONValue]) -> list[JSONValue]:
    """The entries of a stored list with its blocks opened but its parts still references."""
    if not (isinstance(value, dict) and _BLOCKS in value):
        return list(_list(value))
    levels = _list(value[_BLOCKS])
    found: list[JSONValue] = []
    for position, level in enumerate(levels):
        found += _opened(_list(level), len(levels) - 1 - position, stored)
    return found


class Splitter:
    """Cuts the payloads of one run, each repeated message once.

    Parts are remembered by object identity, then by content. Values that it was given must not change while
    it is in use. `parts` collects the bytes by digest.
    """

    def __init__(self) -> None:
        self.parts: dict[str, bytes] = {}
        self._by_identity: dict[int, JSONObject] = {}
        self._kept: list[object] = []  # all that is known by identity, lest that be given to another
        self._by_content: dict[bytes, JSONObject] = {}
        self._lists: dict[int, list[JSONObject]] = {}
        self._conversations: dict[int, Growing] = {}
        self._blocks: dict[tuple[int, ...], JSONObject] = {}
        self._last: deque[tuple[list[JSONValue], list[JSONObject]]] = deque(maxlen=_RECENT)
        self._recent: deque[tuple[list[JSONObject], list[JSONObject]]] = deque(maxlen=_RECENT)

    def split(self, value: JSONValue) -> str:
        """The digest of `value`; raises `NotCanonical` naming the place in it."""
        return self._store(self._cut(value, 0))

    def digest(self, value: JSONValue) -> str:
        """The digest of `value` without keeping its root: of a value made of parts of others."""
        return digest_bytes(canonical_bytes(self._cut(value, 0)))

    def part_digest(self, item: JSONValue) -> str:
        """The digest of one entry of a joint: of a message, a tool schema, a document."""
        return str(self._joint(item, 0)[_PART])

    def part_digests(self, items: Sequence[JSONValue]) -> Sequence[str]:
        """The digests of the entries of a joint."""
        if isinstance(items, Messages):
            return Digests(self._grown(items, 0), len(items))
        items = items if isinstance(items, list) else list(items)
        return list(map(_NAMED, self._entries(items, 0)))

    def _cut(self, value: JSONValue, depth: int) -> JSONValue:
        if isinstance(value, str):
            return self._reference(value) if len(value) > LONG_TEXT else value
        if isinstance(value, dict):
            return self._cut_object(value, _deeper(depth))
        if isinstance(value, list):
            return _each_with_place(value, _deeper(depth), self._cut)
        return value

    def _cut_object(self, value: JSONObject, depth: int) -> JSONObject:
        cut: JSONObject = {}
        key = ""
        try:
            for key, item in value.items():
                cut[key] = self._cut_member(key, item, depth)
        except NotCanonical as problem:
            problem.path.append(str(key))
            raise
        return {_LITERAL: cut} if not _RESERVED.isdisjoint(cut) else cut

    def _cut_member(self, key: str, value: JSONValue, depth: int) -> JSONValue:
        if isinstance(value, Messages):
            return self._conversation(value, _deeper(depth))
        if key in _JOINTS and isinstance(value, list):
            return self._blocked(self._entries(value, _deeper(depth)))
        if key in _SINGLE_JOINTS and isinstance(value, dict):
            return self._joint(value, depth)
        return self._cut(value, depth)

    def _conversation(self, messages: Messages, depth: int) -> JSONValue:
        """The beginning of a conversation, as `_blocked` cuts a list of the same messages."""
        growing, count = self._grown(messages, depth), len(messages)
        if count <= 2 * BLOCK:
            return [*growing.references[:count]]
        levels: list[JSONValue] = []
        items, height = growing.references, 0
        while count > BLOCK:
            levels.append([*items[count // BLOCK * BLOCK : count]])
            count //= BLOCK
            items, height = growing.blocks[height], height + 1
        return {_BLOCKS: [[*items[:count]], *reversed(levels)]}

    def _grown(self, messages: Messages, depth: int) -> Growing:
        """What is known of a conversation, with what was said since then."""
        growing = self._conversations.get(id(messages.conversation))
        if growing is None:
            growing = Growing(conversation=messages.conversation)
            self._conversations[id(messages.conversation)] = growing
        references = growing.references
        for index in range(len(references), len(messages)):
            try:
                references.append(self._joint(messages[index], depth))
            except NotCanonical as problem:
                problem.path.append(str(index))
                raise
        self._fill_blocks(growing)
        return growing

    def _fill_blocks(self, growing: Growing) -> None:
        items, height = growing.references, 0
        while len(items) >= BLOCK:
            if height == len(growing.blocks):
                growing.blocks.append([])
            blocks = growing.blocks[height]
            for start in range(len(blocks) * BLOCK, len(items) // BLOCK * BLOCK, BLOCK):
                blocks.append(self._block(items[start : start + BLOCK]))
            items, height = blocks, height + 1

    def _entries(self, items: list[JSONValue], depth: int) -> list[JSONObject]:
        known = self._lists.get(id(items))
        if known is None:
            known = self._lists[id(items)] = self._joints(items, depth)
            self._kept.append(items)
        return known

    def _joints(self, items: list[JSONValue], depth: int) -> list[JSONObject]:
        """The references of all items: most of a conversation is known, so only the rest is looked at."""
        before = self._joined_before(items)
        found: list[Any] = [*before, *map(self._by_identity.get, map(id, items[len(before) :]))]
        at = len(before)
        try:
            for _ in range(found[at:].count(None)):
                at = found.index(None, at)
                found[at] = self._joint(items[at], depth)
        except NotCanonical as problem:
            problem.path.append(str(at))
            raise
        self._last.append((items, found))
        return found

    def _joined_before(self, items: list[JSONValue]) -> list[JSONObject]:
        """The references of a list that this one begins with: every call of a conversation has all of its messages."""
        for before, references in reversed(self._last):
            if len(before) <= len(items) and all(map(is_, before, items)):
                return references
        return []

    def _joint(self, item: JSONValue, depth: int) -> JSONObject:
        known = self._by_identity.get(id(item))
        if known is not None:
            return known
        key = _content_key(item)
        reference = self._by_content.get(key) if key else None
        if reference is None:
            reference = self._reference(self._cut(item, depth))
            if key:
                self._by_content[key] = reference
        self._by_identity[id(item)] = reference
        self._kept.append(item)
        return reference

    def _blocked(self, items: list[JSONObject]) -> JSONValue:
        """A long list as levels of references to full blocks: a tree that grows at its end."""
        if len(items) <= 2 * BLOCK:
            return [*items]
        levels: list[JSONValue] = []
        given, known = items, self._known_blocks(items)
        while len(items) > BLOCK:
            full = len(items) // BLOCK * BLOCK
            levels.append([*items[full:]])
            rest = range(len(known) * BLOCK, full, BLOCK)
            items = [*known, *(self._block(items[at : at + BLOCK]) for at in rest)]
            if len(levels) == 1:
                self._recent.append((given, items))
                known = []
        return {_BLOCKS: [[*items], *reversed(levels)]}

    def _known_blocks(self, items: list[JSONObject]) -> list[JSONObject]:
        """The first blocks of a list that goes on where one of the last ones ended."""
        for before, blocks in reversed(self._recent):
            if len(before) <= len(items) and items[: len(before)] == before:
                return blocks
        return []

    def _block(self, items: list[JSONObject]) -> JSONObject:
        # Each reference is one object that lives as long as this, so identities tell blocks apart.
        key = tuple(map(id, items))
        known = self._blocks.get(key)
        if known is None:
            known = self._blocks[key] = self._reference([*items])
        return known

    def _reference(self, cut: JSONValue) -> JSONObject:
        return {_PART: self._store(cut)}

    def _store(self, cut: JSONValue) -> str:
        data = canonical_bytes(cut)
        name = digest_bytes(data)
        if name not in self.parts:
            # A copy, because orjson's bytes keep the 4 KiB that they were written into.
            self.parts[name] = bytes(memoryview(data))
        return name


def _each_with_place(items: list[JSONValue], depth: int, cut: Callable[[JSONValue, int], Cut]) -> list[Cut]:
    """Cut each item; a refusal names its place."""
    done: list[Cut] = []
    try:
        for item in items:
            done.append(cut(item, depth))
    except NotCanonical as problem:
        problem.path.append(str(len(done)))
        raise
    return done


def _content_key(item: JSONValue) -> bytes:
    """Bytes that differ for any two values that differ, or none for what has no such bytes.

    Twice as quick as the canonical form. Version 2 writes the same bytes whatever else refers to the value.
    """
    try:
        return marshal.dumps(item, 2)
    except ValueError:
        return b""  # too deep, or not JSON: the canonical form says which


def _deeper(depth: int) -> int:
    if depth >= MAX_DEPTH:
        raise NotCanonical(f"nested deeper than {MAX_DEPTH} levels")
    return depth + 1


def _assemble(value: JSONValue, stored: Mapping[str, JSONValue], whole: dict[str, JSONValue]) -> JSONValue:
    if isinstance(value, list):
        return [_assemble(item, stored, whole) for item in value]
    if not isinstance(value, dict):
        return value
    part = value.get(_PART)
    if isinstance(part, str):
        return _whole(part, stored, whole)
    if _BLOCKS in value:
        return _assemble_blocks(_list(value[_BLOCKS]), stored, whole)
    if _LITERAL in value:
        inner = value[_LITERAL]
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
    if isinstance(value, dict) and isinstance(part := value.get(_PART), str):
        return part
    return digest_bytes(canonical_bytes(value))
