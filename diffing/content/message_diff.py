"""Difference of two message lists: an agent repeats its history, so most of both lists is equal."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from diffing.sequences.anchors import differing_ranges
from diffing.sequences.json_diff import parse_embedded_json
from traces.core.canonical import digest
from traces.core.json_types import JSONValue


@dataclass(frozen=True, kw_only=True, slots=True)
class MessagePair:
    """A message that is on one side only, or differs; `key` tells a difference seen before.

    `opening`: no answer of an assistant stands before it on either side, so that it is no reaction to one.
    """

    role: str
    base_index: int | None
    candidate_index: int | None
    base: str
    candidate: str
    key: tuple[str, str]
    opening: bool = False

    @property
    def op(self) -> Literal["added", "removed", "changed"]:
        if self.base_index is None:
            return "added"
        return "removed" if self.candidate_index is None else "changed"


def changed_messages(base: Sequence[JSONValue], candidate: Sequence[JSONValue]) -> list[MessagePair]:
    """The entries in which two message lists differ, in order."""
    head = _common(base, candidate)
    tail = _common(base[head:][::-1], candidate[head:][::-1])
    left, right = base[head : len(base) - tail], candidate[head : len(candidate) - tail]
    keys = [key_of(_without_ids(item)) for item in left], [key_of(_without_ids(item)) for item in right]
    ends = _opening(base), _opening(candidate)
    if keys[0] <= keys[1]:
        found = _paired(base, candidate, keys, head)
    else:  # always from the same side, so that the other direction says the same
        found = [_turned(item) for item in _paired(candidate, base, keys[::-1], head)]
    return [replace(item, opening=_is_within(item, ends)) for item in found]


def _paired(
    base: Sequence[JSONValue], candidate: Sequence[JSONValue], keys: tuple[list[str], list[str]], head: int
) -> list[MessagePair]:
    found: list[MessagePair] = []
    for mine, theirs in differing_ranges(*keys):
        places = range(head + mine.start, head + mine.stop), range(head + theirs.start, head + theirs.stop)
        found += _stretch(base, candidate, *places)
    return found


def _turned(item: MessagePair) -> MessagePair:
    return replace(
        item,
        base_index=item.candidate_index,
        candidate_index=item.base_index,
        base=item.candidate,
        candidate=item.base,
        key=item.key[::-1],
    )


def _opening(messages: Sequence[JSONValue]) -> int:
    """How many messages stand before the first answer."""
    return next((at for at, message in enumerate(messages) if _role(message) == "assistant"), len(messages))


def _is_within(item: MessagePair, ends: tuple[int, int]) -> bool:
    indexes = item.base_index, item.candidate_index
    return all(index is None or index < end for index, end in zip(indexes, ends, strict=True))


def key_of(value: JSONValue) -> str:
    """Names a value by content."""
    return digest(value)


def without_call_ids(calls: JSONValue) -> list[JSONValue]:
    """Tool calls without their ids, which differ in every run."""
    listed = calls if isinstance(calls, list) else []
    named = [call for call in listed if isinstance(call, dict)]
    return [{"name": call.get("name"), "arguments": parse_embedded_json(call.get("arguments"))} for call in named]


def content_text(content: JSONValue) -> str:
    """The words of a message's content: a text, or the texts of its blocks."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text for text in map(content_text, content) if text)
    if isinstance(content, dict):
        inner = content.get("text", content.get("content"))
        return content_text(inner) if inner is not None else f"[{content.get('type', 'data')}]"
    return "" if content is None else str(content)


def message_text(message: JSONValue) -> str:
    """A message in words: what it says, and which calls it makes."""
    if not isinstance(message, dict):
        return content_text(message)
    calls = message.get("tool_calls")
    made = [call_text(call) for call in calls] if isinstance(calls, list) else []
    return "\n".join(part for part in (content_text(message.get("content")), *made) if part)


def call_text(call: JSONValue) -> str:
    """A tool call as one would write it."""
    if not isinstance(call, dict):
        return str(call)
    given = call.get("arguments")
    shown = ", ".join(f"{key}={value}" for key, value in given.items()) if isinstance(given, dict) else str(given or "")
    return f"{call.get('name')}({shown})"


def _common(left: Sequence[JSONValue], right: Sequence[JSONValue]) -> int:
    """How many entries at the start are equal; parts of one store are mostly the same objects."""
    count = 0
    for one, other in zip(left, right, strict=False):
        if one is not other and one != other:
            break
        count += 1
    return count


def _stretch(
    base: Sequence[JSONValue], candidate: Sequence[JSONValue], at_base: range, at_candidate: range
) -> list[MessagePair]:
    """Within a stretch that differs, messages of one role are paired in order."""
    waiting = list(at_candidate)
    found = []
    for i in at_base:
        j = next((j for j in waiting if _role(candidate[j]) == _role(base[i])), None)
        skipped = waiting[: waiting.index(j)] if j is not None else []
        found += [_pair(base, candidate, None, k) for k in skipped]
        found.append(_pair(base, candidate, i, j))
        waiting = waiting[len(skipped) + (j is not None) :]
    return found + [_pair(base, candidate, None, j) for j in waiting]


def _pair(base: Sequence[JSONValue], candidate: Sequence[JSONValue], i: int | None, j: int | None) -> MessagePair:
    left = base[i] if i is not None else None
    right = candidate[j] if j is not None else None
    return MessagePair(
        role=_role(right if j is not None else left),
        base_index=i,
        candidate_index=j,
        base=message_text(left),
        candidate=message_text(right),
        key=(key_of(_without_ids(left)), key_of(_without_ids(right))),
    )


def _without_ids(message: JSONValue) -> JSONValue:
    if not isinstance(message, dict):
        return message
    kept = {key: value for key, value in message.items() if key not in {"tool_call_id", "tool_calls", "id"}}
    return {**kept, "tool_calls": without_call_ids(message.get("tool_calls"))}


def _role(message: JSONValue) -> str:
    return str(message.get("role") or "") if isinstance(message, dict) else ""
