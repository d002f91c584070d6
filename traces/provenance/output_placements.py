"""Placements of whole outputs in a conversation: as a model's answer or a tool message. Pure.

A conversation only grows. So text before an output was written without it, and an assistant message after it whose
call was not recorded was written by a model that read it there. Neither shows that code used a value of the output.

Example: `user: order 4711?` - `tool: {"order": 4711}` - `assistant: Order 4711 is on its way.` The tool's output is
consumed by its message. Neither the question before it nor the answer after it shows that code filled in the number.
"""

from array import array
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Final

from traces.provenance.short_values import is_long_identifier, words_of

_CONFIGURING: Final = frozenset({"system", "developer"})


class Placements:
    """The messages of one conversation that are whole outputs, by step."""

    def __init__(self) -> None:
        self._indices: dict[int, int] = {}
        # The same while it is put aside, step and index in turn: a dictionary takes ten times as much memory.
        self._numbers = array("I")
        self._length = 0
        self._is_continued = False

    def put_aside(self) -> None:
        """Take little memory until a request continues this conversation: none does if each drops a few messages."""
        if not self._is_continued:
            self._numbers.extend(chain.from_iterable(self._indices.items()))
            self._indices = {}

    def branch_at(self, start: int, length: int) -> "Placements":
        """Return the placements of a request of `length` messages that shares the first `start` with this one."""
        numbers = iter(self._numbers)
        self._indices.update(zip(numbers, numbers, strict=True))
        self._numbers, self._is_continued = array("I"), True
        if self._length <= start:
            self._length = length
            return self
        branch = Placements()
        branch._indices = {step: index for step, index in self._indices.items() if index < start}
        branch._length = length
        return branch

    def add(self, step: int, index: int) -> None:
        self._indices.setdefault(step, index)

    def hides(self, step: int, index: int, role: str, value: str) -> bool:
        """True if a value of `step` in the message at `index` is no evidence that code put it there.

        A system message may be rendered again for every request, so a long id in it is evidence at any position.
        """
        placement = self._indices.get(step)
        if placement is None or placement == index:
            return False
        if role in _CONFIGURING:
            return not is_long_identifier(words_of(value))
        return role == "assistant" or index < placement


def hide_nothing(step: int, value: str) -> bool:
    """The `hides` of texts that are not messages."""
    return False


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """How to search a text for outputs: as a `reply` by an author who had read them, and which matches it `hides`."""

    reply: bool = False
    hides: Callable[[int, str], bool] = hide_nothing


PLAIN: Final = Reading()
