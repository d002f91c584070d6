"""A conversation that grows, as its model calls see it: each was shown all that was said before it.

As lists of their own, the inputs of n calls hold n² / 2 messages. Here they are beginnings of one list. Pure.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import overload

from traces.core.json_types import JSONValue


class Conversation:
    """Messages in order; they are only ever added."""

    def __init__(self, messages: Sequence[JSONValue] = ()) -> None:
        self.messages = list(messages)

    def __len__(self) -> int:
        return len(self.messages)

    def append(self, message: JSONValue) -> None:
        self.messages.append(message)

    @property
    def so_far(self) -> "Messages":
        """What was said until now, which stays the same when more is said."""
        return Messages(self, len(self.messages))


class Messages(Sequence[JSONValue]):
    """The first messages of a conversation, equal to a list of them.

    Not a list, so that nothing takes it for one that it can read without asking: a `Splitter` knows how.
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
            return [self.conversation.messages[at] for at in range(*index.indices(self.length))]
        if not -self.length <= index < self.length:
            raise IndexError(index)
        return self.conversation.messages[index if index >= 0 else index + self.length]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, list | Messages) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # equal to lists, which have none

    def __repr__(self) -> str:
        return f"Messages({list(self)!r})"
