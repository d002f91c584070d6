"""Parts of the pool of messages that the events of an Inspect sample share."""

from dataclasses import dataclass, field

from traces.core.json_types import JSONValue
from traces.payloads.conversation import Conversation

_Bounds = list[tuple[JSONValue, ...]]


@dataclass(kw_only=True)
class PoolSlice:
    """The messages in some ranges of a pool; later calls often extend these ranges."""

    bounds: _Bounds = field(default_factory=list)
    messages: Conversation = field(default_factory=Conversation)

    def is_continued_by(self, bounds: _Bounds) -> bool:
        """Return True if `bounds` start with these ranges; the last may be longer, and more may follow."""
        last_index = len(self.bounds) - 1
        if len(bounds) <= last_index or bounds[:last_index] != self.bounds[:last_index]:
            return False
        range_, continuation = self.bounds[last_index], bounds[last_index]
        match (*range_, *continuation):
            case [int(start), int(end), int(next_start), int(next_end)]:
                return start == next_start and end <= next_end
            case _:
                return False
