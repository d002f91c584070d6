"""A growing conversation, whose model calls each contain all messages before them. Pure.

As separate lists, the inputs of n calls would hold n² / 2 messages. Here they are prefixes of one list.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import overload

from traces.core.json_types import JSONValue


class Conversation:
    """Messages in order; append-only."""

    def __init__(self, messages: Sequence[JSONValue] = ()) -> None:
        self.messages = list(messages)

    def __len__(self) -> int:
        return len(self.messages)

    def append(self, message: JSONValue) -> None:
        self.messages.append(message)

    @property
    def snapshot(self) -> "Messages":
        """The messages up to now; it does not change when more are appended."""
        return Messages(self, len(self.messages))


class Messages(Sequence[JSONValue]):
    """The first messages of a conversation; equal to a list of them.

    Not a `list` subclass, so that code cannot process it as a plain list by accident: a `Splitter` handles it.
    """

    __slots__ = ("conversation", "length")

    def __init__(self, conversation: Conversation, length: int) -> None:
        self.conversation = conversation
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[JSONValue]:
        return islice(self.conversation.messages, self.length)

    @overload
    def __getitem__(self, index: int) -> JSONValue: ...
    @overload
    def __getitem__(self, index: slice) -> list[JSONValue]: ...
    def __getitem__(self, index: int | slice) -> JSONValue | list[JSONValue]:
        if isinstance(index, slice):
            return [self.conversation.messages[position] for position in range(*index.indices(self.length))]
        if not -self.length <= index < self.length:
            raise IndexError(index)
        return self.conversation.messages[index if index >= 0 else index + self.length]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, list | Messages) and list(self) == list(other)

    # Equal to lists, which are not hashable.
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Messages({list(self)!r})"


class MessageCursor:
    """Reads the messages of successive requests, and each message of a growing conversation once.

    It compares conversations by identity, so the requests must outlive it.
    """

    def __init__(self) -> None:
        # The latest request of each conversation, by the identity of the conversation or of its first message.
        self._latest: dict[int, Sequence[JSONValue]] = {}

    def unread(self, messages: Sequence[JSONValue]) -> Sequence[JSONValue]:
        """Return the messages of a request that follow those of the previous request of its conversation."""
        if not messages:
            return messages
        key = id(messages.conversation if isinstance(messages, Messages) else messages[0])
        previous = self._latest.get(key, ())
        self._latest[key] = messages
        length = len(previous)
        is_continued = 0 < length <= len(messages) and messages[length - 1] is previous[-1]
        return messages[length:] if is_continued else messages
