"""Changes: outputs that differ from the recording, and the links that carry them. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from replay.core.graph import Link, Node
from traces.core.json_types import JSONValue


@dataclass(frozen=True, kw_only=True)
class Change:
    """A step whose output differs from the recording.

    `answered` is false for a placeholder: then the step's calls are taken to be the recorded ones.
    """

    node: Node
    original: JSONValue
    current: JSONValue
    is_known: bool = True


Incoming = Sequence[tuple[Link, Change]]
# Links whose new value could not be put in its place
Misses = list[Link]
