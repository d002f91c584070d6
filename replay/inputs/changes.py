"""Changes: outputs that differ from the recording, and the links that carry them. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from replay.core.graph import Link, Node
from replay.core.values.unread import ReadAtFirstUse
from traces.core.json_types import JSONValue


@dataclass(frozen=True, kw_only=True, eq=False)
class Change:
    """A step whose output differs from the recording. Equal only to itself: its outputs may be long.

    `is_known` is false for a placeholder: the replay goes on with the calls that the recorded answer requests.
    """

    node: Node
    original: ReadAtFirstUse = ReadAtFirstUse()
    current: JSONValue
    is_known: bool = True


Incoming = Sequence[tuple[Link, Change]]
# Links whose new value could not be inserted.
Misses = list[Link]
