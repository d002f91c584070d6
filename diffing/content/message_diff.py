"""Differences of two message lists. Agents repeat their history, so most messages are equal. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from diffing.content.payload_texts import message_text, without_random_ids
from diffing.sequences.anchors import differing_ranges
from diffing.sequences.json_diff import parse_embedded_json
from diffing.sequences.word_hunks import Hunk
from traces.core.canonical import digest
from traces.core.json_access import as_objects
from traces.core.json_types import JSONValue
from traces.payloads.messages import Message

# More reworded messages of one request are one change.
_MOST_CHANGES: Final = 12


@dataclass(frozen=True, kw_only=True, slots=True)
class MessagePair:
    """A message that differs or occurs on one side only.

    `key` identifies the same difference in another step. `opening`: no answer of an assistant comes before it on
    either side, so it cannot respond to one. `passages`: only these differences of the two texts are meant, and
    `candidate` has no others. `source`: the text from outside that the message repeats: the place of a run's input, or
    the key of an earlier message.
    """

    role: str
    base_index: int | None
    candidate_index: int | None
    base: str
    candidate: str
    key: tuple[str, str]
    opening: bool = False
    passages: tuple[Hunk, ...] = ()
    source: int | tuple[str, str] | None = None

    @property
    def op(self) -> Literal["added", "removed", "changed"]:
        if self.base_index is None:
            return "added"
        return "removed" if self.candidate_index is None else "changed"


def apart(messages: Sequence[MessagePair]) -> list[tuple[MessagePair, ...]]:
    """Split differing messages into changes: each reworded one is its own, unless they are too many to tell apart.

    Those that only one run has stay together, and so do answers with results of tools, which may belong to their calls.
    """
    joint_roles = {"tool", "assistant"} if any(item.role == "tool" for item in messages) else set()
    is_single = [item.op == "changed" and item.role not in joint_roles for item in messages]
    if sum(is_single) > _MOST_CHANGES:
        return [tuple(messages)]
    single = [(item,) for item, own in zip(messages, is_single, strict=True) if own]
    rest = tuple(item for item, own in zip(messages, is_single, strict=True) if not own)
    return [*single, *([rest] if rest else [])]


def changed_messages(base: Sequence[JSONValue], candidate: Sequence[JSONValue]) -> list[MessagePair]:
    """The entries in which two message lists differ, in order."""
    head = _common_prefix(base, candidate)
    tail = _common_prefix(base[head:][::-1], candidate[head:][::-1])
    left, right = base[head : len(base) - tail], candidate[head : len(candidate) - tail]
    keys = [key_of(_without_ids(item)) for item in left], [key_of(_without_ids(item)) for item in right]
    opening_ends = _opening_length(base), _opening_length(candidate)
    if keys[0] <= keys[1]:
        changes = _pair_stretches(base, candidate, keys, head)
    else:
        # Always pair from the same side, so that swapping the sides swaps the result.
        changes = [_swap_sides(item) for item in _pair_stretches(candidate, base, keys[::-1], head)]
    return [replace(item, opening=_is_within(item, opening_ends)) for item in changes]


def _pair_stretches(
    base: Sequence[JSONValue], candidate: Sequence[JSONValue], keys: tuple[list[str], list[str]], head: int
) -> list[MessagePair]:
    changes: list[MessagePair] = []
    for ranges in differing_ranges(*keys):
        base_range, candidate_range = (range(head + part.start, head + part.stop) for part in ranges)
        changes += _pair_stretch(base, candidate, base_range, candidate_range)
    return changes


def _swap_sides(item: MessagePair) -> MessagePair:
    return replace(
        item,
        base_index=item.candidate_index,
        candidate_index=item.base_index,
        base=item.candidate,
        candidate=item.base,
        key=item.key[::-1],
    )


def _opening_length(messages: Sequence[JSONValue]) -> int:
    """The number of messages before the first answer."""
    return next((at for at, message in enumerate(messages) if Message(message).role == "assistant"), len(messages))


def _is_within(item: MessagePair, ends: tuple[int, int]) -> bool:
    indexes = item.base_index, item.candidate_index
    return all(index is None or index < end for index, end in zip(indexes, ends, strict=True))


def key_of(value: JSONValue) -> str:
    """The identity of a value by content."""
    return digest(value)


def without_call_ids(calls: JSONValue) -> list[JSONValue]:
    """Tool calls without their ids, which differ between any two runs."""
    return [
        {"name": call.get("name"), "arguments": parse_embedded_json(call.get("arguments"))}
        for call in as_objects(calls)
    ]


def _common_prefix(left: Sequence[JSONValue], right: Sequence[JSONValue]) -> int:
    """The number of equal entries at the start; equal parts from one store are mostly the same objects."""
    count = 0
    for left_item, right_item in zip(left, right, strict=False):
        if left_item is not right_item and left_item != right_item:
            break
        count += 1
    return count


def _pair_stretch(
    base: Sequence[JSONValue], candidate: Sequence[JSONValue], base_range: range, candidate_range: range
) -> list[MessagePair]:
    """Pair the messages of a differing stretch: the same role, in order."""
    open_indexes = list(candidate_range)
    pairs = []
    for i in base_range:
        j = next((j for j in open_indexes if Message(candidate[j]).role == Message(base[i]).role), None)
        unpaired_before = open_indexes[: open_indexes.index(j)] if j is not None else []
        pairs += [_pair(base, candidate, None, k) for k in unpaired_before]
        pairs.append(_pair(base, candidate, i, j))
        open_indexes = open_indexes[len(unpaired_before) + (j is not None) :]
    return pairs + [_pair(base, candidate, None, j) for j in open_indexes]


def _pair(base: Sequence[JSONValue], candidate: Sequence[JSONValue], i: int | None, j: int | None) -> MessagePair:
    left = base[i] if i is not None else None
    right = candidate[j] if j is not None else None
    return MessagePair(
        role=Message(right if j is not None else left).role,
        base_index=i,
        candidate_index=j,
        base=message_text(left),
        candidate=message_text(right),
        key=(key_of(_without_ids(left)), key_of(_without_ids(right))),
    )


def _without_ids(message: JSONValue) -> JSONValue:
    if not isinstance(message, dict):
        return message
    fields = {key: value for key, value in message.items() if key not in {"tool_call_id", "tool_calls", "id"}}
    if isinstance(blocks := message.get("content"), list):
        fields["content"] = [without_random_ids(block) if isinstance(block, dict) else block for block in blocks]
    return {**fields, "tool_calls": without_call_ids(message.get("tool_calls"))}
