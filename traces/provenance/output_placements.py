"""Placements of whole outputs in a conversation: as a model's answer or a tool message. Pure.

A conversation only grows. So text before an output was written without it, and an assistant message after it whose
call was not recorded was written by a model that read it there. Neither shows that code used a value of the output.

Example: `user: order 4711?` - `tool: {"order": 4711}` - `assistant: Order 4711 is on its way.` The tool's output is
consumed by its message. Neither the question before it nor the answer after it shows that code filled in the number.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from traces.provenance.short_values import is_long_identifier, words_of

_CONFIGURING: Final = frozenset({"system", "developer"})


class Placements:
    """The messages of one conversation that are whole outputs, by step."""

    def __init__(self) -> None:
        self._indices: dict[int, int] = {}
        self._length = 0

    def branch_at(self, start: int, length: int) -> "Placements":
        """Return the placements of a request of `length` messages that shares the first `start` with this one."""
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
