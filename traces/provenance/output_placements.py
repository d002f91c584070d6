"""Where the whole outputs of earlier steps stand in a conversation: as a model's answer, as a tool's message. Pure.

A conversation only grows. So what stands before an output was written without it; and an answer after it, whose call
was not recorded, was written by a model that read it there. Neither shows that code used a value of the output.

Example: `user, order 4711?` - `tool, {"order": 4711}` - `assistant, Order 4711 is on its way.` The tool's output is
consumed by its message; the question before it and the answer after it are no places where its number was filled in.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from traces.provenance.short_values import is_long_identifier, words_of

_CONFIGURING: Final = frozenset({"system", "developer"})


class Placements:
    """The messages of one conversation that are whole outputs, by step."""

    def __init__(self) -> None:
        self._places: dict[int, int] = {}
        self._length = 0

    def continued(self, start: int, length: int) -> "Placements":
        """Those of a request of `length` messages that begins with the first `start` ones of this conversation."""
        if self._length <= start:
            self._length = length
            return self
        branch = Placements()
        branch._places = {step: index for step, index in self._places.items() if index < start}
        branch._length = length
        return branch

    def add(self, step: int, index: int) -> None:
        self._places.setdefault(step, index)

    def hides(self, step: int, index: int, role: str, value: str) -> bool:
        """Whether a message cannot show that code put a value of a step into it.

        A system message may be rendered anew for every request, so a long id in it counts wherever the output stands.
        """
        place = self._places.get(step)
        if place is None or place == index:
            return False
        if role in _CONFIGURING:
            return not is_long_identifier(words_of(value))
        return role == "assistant" or index < place


def nothing_hidden(step: int, value: str) -> bool:
    """Of texts that are no messages."""
    return False


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """How a text is searched for outputs: as a `reply` of somebody who had read them, and what it `hides`."""

    reply: bool = False
    hides: Callable[[int, str], bool] = nothing_hidden


PLAIN: Final = Reading()
