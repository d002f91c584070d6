"""Splitter: cut payloads into parts. `traces.payloads.parts` defines the parts and joins them again."""

import marshal
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import is_, itemgetter
from typing import Any, Final, TypeVar

from traces.core.canonical import (
    MAX_DEPTH,
    CanonicalList,
    NotCanonical,
    canonical_bytes,
    canonical_form,
    digest_bytes,
    is_plain_value,
    plain_form,
)
from traces.core.json_types import JSONObject, JSONValue
from traces.payloads.compressed_parts import CompressedParts
from traces.payloads.conversation import Messages
from traces.payloads.conversation_state import ConversationState, Digests
from traces.payloads.parts import BLOCK, BLOCKS, LITERAL, LONG_TEXT, PART

# Recent lists whose blocks are cached: a recorded and a rebuilt conversation may alternate.
_RECENT: Final = 4
_DIGEST_OF: Final[Callable[[JSONObject], str]] = itemgetter(PART)
_RESERVED_KEYS: Final = frozenset({PART, LITERAL, BLOCKS})
# Members that are lists of parts.
_JOINTS: Final = frozenset({"messages", "tools", "documents"})
# Members that are a part.
_SINGLE_JOINTS: Final = frozenset({"message"})
_SPECIAL_KEYS: Final = _RESERVED_KEYS | _JOINTS | _SINGLE_JOINTS
# Values so small are not nested too deep.
_SMALL_SIZE: Final = 64
Cut = TypeVar("Cut")


@dataclass(frozen=True, kw_only=True, slots=True)
class SplitPayload:
    """The root digest, and the bytes of every part by digest, including the root."""

    digest: str
    parts: Mapping[str, bytes] = field(default_factory=dict)


def split(value: JSONValue) -> SplitPayload:
    """Cut `value` at its joints; raise `NotCanonical` for anything that is not JSON."""
    splitter = Splitter()
    return SplitPayload(digest=splitter.split(value), parts=splitter.parts)


class Splitter:
    """Cuts the payloads of one run; a repeated message is cut once.

    Parts are recognized by object identity, then by content. Input values must not change while the splitter is in
    use. `parts` collects the bytes by digest.
    """

    def __init__(self) -> None:
        self.parts = CompressedParts()
        # Whether the parts contain all numbers with their types: 1.0 becomes 1.
        self.has_types = True
        self._by_identity: dict[int, JSONObject] = {}
        # Keeps every object in `_by_identity` and `_lists` alive, so that its id is not reused.
        self._references: list[object] = []
        self._by_content: dict[bytes, JSONObject] = {}
        self._lists: dict[int, list[JSONObject]] = {}
        self._conversations: dict[int, ConversationState] = {}
        self._blocks: dict[tuple[int, ...], JSONObject] = {}
        self._last: deque[tuple[list[JSONValue], list[JSONObject]]] = deque(maxlen=_RECENT)
        self._recent: deque[tuple[list[JSONObject], list[JSONObject]]] = deque(maxlen=_RECENT)

    def release(self) -> None:
        """Drop all values except `parts`: long runs need the memory while they are stored."""
        caches = (self._by_identity, self._references, self._by_content, self._lists, self._conversations, self._blocks)
        for cache in caches:
            cache.clear()
        self._last.clear()
        self._recent.clear()

    def split(self, value: JSONValue) -> str:
        """Cut `value` and return its digest; raise `NotCanonical` with the location of the problem."""
        data = _whole_form(value)
        return self._store(self._cut(value, 0)) if data is None else self._add(data)

    def digest(self, value: JSONValue) -> str:
        """Return the digest of `value` without storing its root, for a value made of parts of others."""
        return digest_bytes(canonical_bytes(self._cut(value, 0)))

    def cut(self, value: JSONObject) -> JSONObject:
        """Return `value` with references instead of its parts."""
        return self._cut_object(value, 0)

    def part_digest(self, item: JSONValue) -> str:
        """Return the digest of one entry of a joint: a message, a tool schema or a document."""
        return str(self._joint(item, 0)[PART])

    def part_digests(self, items: Sequence[JSONValue]) -> Sequence[str]:
        """Return the digests of the entries of a joint."""
        if isinstance(items, Messages):
            return Digests(self._state_of(items, 0), len(items))
        items = items if isinstance(items, list) else list(items)
        return list(map(_DIGEST_OF, self._entries(items, 0)))

    def _cut(self, value: JSONValue, depth: int) -> JSONValue:
        if isinstance(value, str):
            return self._reference(value) if len(value) > LONG_TEXT else value
        if isinstance(value, dict):
            return self._cut_object(value, _deeper(depth))
        if isinstance(value, list):
            return _cut_items(value, _deeper(depth), self._cut)
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
        return {LITERAL: cut} if not _RESERVED_KEYS.isdisjoint(cut) else cut

    def _cut_member(self, key: str, value: Any, depth: int) -> JSONValue:
        # Not `isinstance`, which is slow for an abstract base class.
        if type(value) is Messages:
            return self._conversation(value, _deeper(depth))
        if key in _JOINTS and isinstance(value, list):
            return self._cut_blocks(self._entries(value, _deeper(depth)))
        if key in _SINGLE_JOINTS and isinstance(value, dict):
            return self._joint(value, depth)
        return self._cut(value, depth)

    def _conversation(self, messages: Messages, depth: int) -> JSONValue:
        """Cut the first messages of a conversation, with the result of `_cut_blocks` for a list of them."""
        state, count = self._state_of(messages, depth), len(messages)
        # Cached, because a request is cut for its storage and again for its signature.
        if state.cut is None or state.cut[0] != count:
            state.cut = count, self._prefix(state, count)
        return state.cut[1]

    def _prefix(self, state: ConversationState, count: int) -> JSONValue:
        if count <= 2 * BLOCK:
            return CanonicalList(state.references[:count])
        levels: list[JSONValue] = []
        items, height = state.references, 0
        while count > BLOCK:
            levels.append([*items[count // BLOCK * BLOCK : count]])
            count //= BLOCK
            items, height = state.blocks[height], height + 1
        return {BLOCKS: CanonicalList([[*items[:count]], *reversed(levels)])}

    def _state_of(self, messages: Messages, depth: int) -> ConversationState:
        """Return the state of a conversation, extended by its new messages."""
        state = self._conversations.get(id(messages.conversation))
        if state is None:
            state = ConversationState(conversation=messages.conversation)
            self._conversations[id(messages.conversation)] = state
        references = state.references
        if len(references) >= len(messages):
            return state
        for index in range(len(references), len(messages)):
            try:
                references.append(self._joint(messages[index], depth))
            except NotCanonical as problem:
                problem.path.append(str(index))
                raise
        self._fill_blocks(state)
        return state

    def _fill_blocks(self, state: ConversationState) -> None:
        items, height = state.references, 0
        while len(items) >= BLOCK:
            if height == len(state.blocks):
                state.blocks.append([])
            blocks = state.blocks[height]
            for start in range(len(blocks) * BLOCK, len(items) // BLOCK * BLOCK, BLOCK):
                blocks.append(self._block(items[start : start + BLOCK]))
            items, height = blocks, height + 1

    def _entries(self, items: list[JSONValue], depth: int) -> list[JSONObject]:
        entries = self._lists.get(id(items))
        if entries is None:
            entries = self._lists[id(items)] = self._joints(items, depth)
            self._references.append(items)
        return entries

    def _joints(self, items: list[JSONValue], depth: int) -> list[JSONObject]:
        """Return the references of all items. Most of a conversation was cut before; only new items are."""
        prefix = self._find_prefix(items)
        references: list[Any] = [*prefix, *map(self._by_identity.get, map(id, items[len(prefix) :]))]
        index = len(prefix)
        try:
            for _ in range(references[index:].count(None)):
                index = references.index(None, index)
                references[index] = self._joint(items[index], depth)
        except NotCanonical as problem:
            problem.path.append(str(index))
            raise
        self._last.append((items, references))
        return references

    def _find_prefix(self, items: list[JSONValue]) -> list[JSONObject]:
        """Return the references of a recent list that `items` begins with: each call repeats its conversation."""
        for earlier, references in reversed(self._last):
            if len(earlier) <= len(items) and all(map(is_, earlier, items)):
                return references
        return []

    def _joint(self, item: JSONValue, depth: int) -> JSONObject:
        cached = self._by_identity.get(id(item))
        if cached is not None:
            return cached
        key = _content_key(item)
        reference = self._by_content.get(key) if key else None
        if reference is None:
            data = _whole_form(item)
            reference = self._reference(self._cut(item, depth)) if data is None else {PART: self._add(data)}
            if key:
                self._by_content[key] = reference
        self._by_identity[id(item)] = reference
        self._references.append(item)
        return reference

    def _cut_blocks(self, items: list[JSONObject]) -> JSONValue:
        """Cut a long list into levels of references to full blocks: a tree that grows at its end."""
        if len(items) <= 2 * BLOCK:
            return CanonicalList(items)
        levels: list[JSONValue] = []
        all_items, first_blocks = items, self._find_blocks(items)
        while len(items) > BLOCK:
            full = len(items) // BLOCK * BLOCK
            levels.append([*items[full:]])
            rest = range(len(first_blocks) * BLOCK, full, BLOCK)
            items = [*first_blocks, *(self._block(items[start : start + BLOCK]) for start in rest)]
            if len(levels) == 1:
                self._recent.append((all_items, items))
                first_blocks = []
        return {BLOCKS: CanonicalList([[*items], *reversed(levels)])}

    def _find_blocks(self, items: list[JSONObject]) -> list[JSONObject]:
        """Return the blocks of a recent list that `items` continues."""
        for earlier, blocks in reversed(self._recent):
            if len(earlier) <= len(items) and items[: len(earlier)] == earlier:
                return blocks
        return []

    def _block(self, items: list[JSONObject]) -> JSONObject:
        # Each reference is one object that lives as long as the splitter, so identities distinguish blocks.
        key = tuple(map(id, items))
        block = self._blocks.get(key)
        if block is None:
            block = self._blocks[key] = self._reference(CanonicalList(items))
        return block

    def _reference(self, cut: JSONValue) -> JSONObject:
        return {PART: self._store(cut)}

    def _store(self, cut: JSONValue) -> str:
        form = canonical_form(cut)
        self.has_types &= form.has_types
        return self._add(form.data)

    def _add(self, data: bytes) -> str:
        name = digest_bytes(data)
        self.parts.add(name, data)
        return name


def _whole_form(value: JSONValue) -> bytes | None:
    """Return the canonical form of a small value that has no part to cut; None only means that it must be looked at."""
    if not isinstance(value, dict) or len(value) > _SMALL_SIZE or not _SPECIAL_KEYS.isdisjoint(value):
        return None
    pending: list[Any] = [*value.values()]
    keys: list[str] = [*value]
    # The list grows during the iteration.
    for item in pending:
        kind = type(item)
        if kind is str:
            if len(item) > LONG_TEXT:
                return None
        elif kind is dict or kind is list:
            if kind is dict:
                keys += item
            pending += item.values() if kind is dict else item
            if len(pending) > _SMALL_SIZE:
                return None
        elif item is not None and not is_plain_value(item):
            return None
    return plain_form(value, keys) if _SPECIAL_KEYS.isdisjoint(keys) else None


def _cut_items(items: list[JSONValue], depth: int, cut: Callable[[JSONValue, int], Cut]) -> list[Cut]:
    """Cut each item; an error names the item's index."""
    parts: list[Cut] = []
    try:
        for item in items:
            parts.append(cut(item, depth))
    except NotCanonical as problem:
        problem.path.append(str(len(parts)))
        raise
    return parts


def _content_key(item: JSONValue) -> bytes:
    """Return bytes that identify a value by its content, or none if it cannot be marshalled.

    Twice as fast as the canonical form. In version 2 the bytes do not depend on references to the value.
    """
    try:
        return marshal.dumps(item, 2)
    except ValueError:
        # Too deep, or not JSON: the canonical form reports which.
        return b""


def _deeper(depth: int) -> int:
    if depth >= MAX_DEPTH:
        raise NotCanonical(f"nested deeper than {MAX_DEPTH} levels")
    return depth + 1
