"""Events of a replay: steps reused, resolved, skipped, containers closed, divergence. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from replay.core.calls import Answer, Call
from replay.core.graph import Node
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import Label, Reason


@dataclass(frozen=True, kw_only=True)
class StepsReused:
    """Source steps `first` to `last` keep their recorded outputs; derived numbers are higher by `offset`.

    No change reaches them. For the steps in `assumptions`, which give the reason by number, that is only assumed.
    """

    first: int
    last: int
    offset: int
    assumptions: Mapping[int, JSONObject] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class StepResolved:
    call: Call
    answer: Answer


@dataclass(frozen=True, kw_only=True)
class StepSkipped:
    """A source step that no longer runs; `is_reported` if a divergence already explains its replacement."""

    node: Node
    reason: str
    is_reported: bool = False


@dataclass(frozen=True, kw_only=True)
class ContainerClosed:
    """A container has ended with children that differ from the recording.

    `output_from` are the derived numbers of the steps that its output comes from, latest first.
    """

    node: Node
    no: int
    output: JSONValue
    label: Label
    reason: Reason
    output_from: tuple[int, ...] = ()
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Divergence:
    """A difference from the recording, as a sentence."""

    text: str


Event = StepsReused | StepResolved | StepSkipped | ContainerClosed | Divergence


@dataclass(frozen=True, kw_only=True)
class Advance:
    """Request of a helper to the driver: run the steps with numbers below `before`, then close `close`."""

    before: int
    close: tuple[Node, ...] = ()


# Helpers of the driver yield these.
DriverEvent = Event | Advance
