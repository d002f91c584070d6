"""Cutting payloads into parts; `traces.payloads.parts` says what the parts are, and joins them again."""

import marshal
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import is_, itemgetter
from typing import Any, Final, TypeVar

from traces.core.canonical import MAX_DEPTH, NotCanonical, Vetted, canonical_bytes, digest_bytes
from traces.core.json_types import JSONObject, JSONValue
from traces.payloads.conversation import Messages
from traces.payloads.conversation_state import Digests, Growing
from traces.payloads.parts import BLOCK, BLOCKS, LITERAL, LONG_TEXT, PART

_RECENT: Final = 4  # lists whose blocks are at hand: a recorded and a rebuilt conversation take turns
_NAMED: Final[Callable[[JSONObject], str]] = itemgetter(PART)
_RESERVED: Final = frozenset({PART, LITERAL, BLOCKS})
_JOINTS: Final = frozenset({"messages", "tools", "documents"})  # lists whose items are parts
_SINGLE_JOINTS: Final = frozenset({"message"})  # objects that are a part
Cut = TypeVar("Cut")


@dataclass(frozen=True, kw_only=True, slots=True)
class SplitPayload:
    """The root digest, and the bytes of every part by digest, the root's among them."""

    digest: str
    parts: dict[str, bytes] = field(default_factory=dict)


def split(value: JSONValue) -> SplitPayload:
    """Cut `value` at its joints; raises `NotCanonical` for what is not JSON."""
    splitter = Splitter()
    return SplitPayload(digest=splitter.split(value), parts=splitter.parts)


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

    def release(self) -> None:
        """Forget the values that it was given; only `parts` stay. Long runs need the memory while they are stored."""
        for known in (self._by_identity, self._kept, self._by_content, self._lists, self._conversations, self._blocks):
            known.clear()
        self._last.clear()
        self._recent.clear()

    def split(self, value: JSONValue) -> str:
        """The digest of `value`; raises `NotCanonical` naming the place in it."""
        return self._store(self._cut(value, 0))

    def digest(self, value: JSONValue) -> str:
        """The digest of `value` without keeping its root: of a value made of parts of others."""
        return digest_bytes(canonical_bytes(self._cut(value, 0)))

    def cut(self, value: JSONObject) -> JSONObject:
        """`value` with references in place of its parts."""
        return self._cut_object(value, 0)

    def part_digest(self, item: JSONValue) -> str:
        """The digest of one entry of a joint: of a message, a tool schema, a document."""
        return str(self._joint(item, 0)[PART])

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
        return {LITERAL: cut} if not _RESERVED.isdisjoint(cut) else cut

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
        if growing.cut is None or growing.cut[0] != count:  # a request is cut for its storage and for its signature
            growing.cut = count, self._first_of(growing, count)
        return growing.cut[1]

    def _first_of(self, growing: Growing, count: int) -> JSONValue:
        if count <= 2 * BLOCK:
            return Vetted(growing.references[:count])
        levels: list[JSONValue] = []
        items, height = growing.references, 0
        while count > BLOCK:
            levels.append([*items[count // BLOCK * BLOCK : count]])
            count //= BLOCK
            items, height = growing.blocks[height], height + 1
        return {BLOCKS: Vetted([[*items[:count]], *reversed(levels)])}

    def _grown(self, messages: Messages, depth: int) -> Growing:
        """What is known of a conversation, with what was said since then."""
        growing = self._conversations.get(id(messages.conversation))
        if growing is None:
            growing = Growing(conversation=messages.conversation)
            self._conversations[id(messages.conversation)] = growing
        references = growing.references
        if len(references) >= len(messages):
            return growing
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
            return Vetted(items)
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
        return {BLOCKS: Vetted([[*items], *reversed(levels)])}

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
            known = self._blocks[key] = self._reference(Vetted(items))
        return known

    def _reference(self, cut: JSONValue) -> JSONObject:
        return {PART: self._store(cut)}

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
