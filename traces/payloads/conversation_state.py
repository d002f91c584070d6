"""A splitter's state of a growing conversation, and the digests of its messages. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import eq
from typing import overload

from traces.core.json_types import JSONObject, JSONValue
from traces.payloads.conversation import Conversation


@dataclass(kw_only=True, slots=True)
class ConversationState:
    """The references of a conversation's messages, and its full blocks by height; both grow with it."""

    conversation: Conversation
    references: list[JSONObject] = field(default_factory=list)
    blocks: list[list[JSONObject]] = field(default_factory=list)
    # The last prefix that was cut, with its length.
    cut: tuple[int, JSONValue] | None = None


class Digests(Sequence[str]):
    """The digests of the first messages of a conversation."""

    __slots__ = ("length", "state")

    def __init__(self, state: ConversationState, length: int) -> None:
        self.state = state
        self.length = length

    def __len__(self) -> int:
        return self.length

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [_digest_in(self.state.references[position]) for position in range(*index.indices(self.length))]
        if not -self.length <= index < self.length:
            raise IndexError(index)
        return _digest_in(self.state.references[index if index >= 0 else index + self.length])


def begins_with(digests: Sequence[str], earlier: Sequence[str]) -> bool:
    """True if `digests` begins with `earlier`; decided by length alone within one conversation."""
    if isinstance(digests, Digests) and isinstance(earlier, Digests) and digests.state is earlier.state:
        return len(earlier) <= len(digests)
    # Item by item: histories of different agents diverge early, and slicing would copy them.
    return len(earlier) <= len(digests) and all(map(eq, digests, earlier))


def _digest_in(reference: JSONObject) -> str:
    return str(reference["$part"])
