"""What a splitter knows of a conversation, which grows with it, and the digests of its messages. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import eq
from typing import overload

from traces.core.json_types import JSONObject, JSONValue
from traces.payloads.conversation import Conversation


@dataclass(kw_only=True, slots=True)
class Growing:
    """The references of a conversation's messages, and its full blocks by height; all grow with the conversation."""

    conversation: Conversation
    references: list[JSONObject] = field(default_factory=list)
    blocks: list[list[JSONObject]] = field(default_factory=list)
    cut: tuple[int, JSONValue] | None = None  # the last beginning of it that was cut, by its length


class Digests(Sequence[str]):
    """The digests of the first messages of a conversation."""

    __slots__ = ("growing", "length")

    def __init__(self, growing: Growing, length: int) -> None:
        self.growing = growing
        self.length = length

    def __len__(self) -> int:
        return self.length

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [_digest_in(self.growing.references[at]) for at in range(*index.indices(self.length))]
        if not -self.length <= index < self.length:
            raise IndexError(index)
        return _digest_in(self.growing.references[index if index >= 0 else index + self.length])


def begins_with(digests: Sequence[str], earlier: Sequence[str]) -> bool:
    """Whether one list of digests begins with another; of one conversation, without looking at them."""
    if isinstance(digests, Digests) and isinstance(earlier, Digests) and digests.growing is earlier.growing:
        return len(earlier) <= len(digests)
    # Item by item: histories of different agents part early, and a copy of each would take far longer.
    return len(earlier) <= len(digests) and all(map(eq, digests, earlier))


def _digest_in(reference: JSONObject) -> str:
    return str(reference["$part"])
