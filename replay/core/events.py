"""Events of a replay: steps reused, resolved, skipped, containers closed, divergence. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from replay.core.calls import Answer, Call
from replay.core.graph import Node
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import Label, Reason


@dataclass(frozen=True, kw_only=True)
class StepsReused:
    """Source steps `first` to `last` that keep their recorded outputs; the derived numbers are `offset` higher.

    No change reaches them or, where `assumed` says by number why not even that is known, that is assumed of each.
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
    """A source step that the replay does not come to any more.

    `told`: what came in its place was said already.
    """

    node: Node
    reason: str
    is_reported: bool = False


@dataclass(frozen=True, kw_only=True)
class ContainerClosed:
    """A step that holds others has come to its end, and something inside of it is not as recorded.

    `output_from`: the steps that its output comes from, in the derived run, the latest first.
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
    """Something that the recording did not have."""

    text: str


Event = StepsReused | StepResolved | StepSkipped | ContainerClosed | Divergence


@dataclass(frozen=True, kw_only=True)
class Advance:
    """What a helper asks of the driver: to come to the steps with numbers under `before`, and to `close` some."""

    before: int
    close: tuple[Node, ...] = ()


# What helpers of the driver yield
DriverEvent = Event | Advance
