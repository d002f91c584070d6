"""One side of a comparison: a run and its steps as the pure modules see them, without payloads."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from traces.core.json_types import JSONObject
from traces.core.step_header import StoredHeader, step_view
from traces.core.vocabulary import StepType
from traces.signatures.ignore_rules import NOTHING, Ignoring

CONTAINERS = frozenset({StepType.AGENT, StepType.TURN})  # hold other steps; what they say their children say too


@step_view
class SideStep(StoredHeader):
    """One step.

    `origin` names the recorded step that this one replays, over any number of forks, or the step itself.
    """

    sequence_no: int
    parent_no: int | None
    label: str
    reason: str
    summary: str
    error: str
    cost_usd: float | None
    origin: UUID

    @property
    def display_name(self) -> str:
        """The name a reader knows the step by."""
        return self.tool_name or self.name or self.type

    @property
    def role(self) -> str:
        """What the step is for. A turn is named by what was said, many a model step by its model."""
        return "" if self.type == StepType.TURN or self.is_named_by_model else self.display_name

    @property
    def tokens(self) -> int | None:
        counts = [count for count in (self.tokens_in, self.tokens_out) if count is not None]
        return sum(counts) if counts else None


class Link(NamedTuple):
    """The step `consumer` used what the step `producer` gave; both are sequence numbers.

    `path` points into the consumer's input, to where it stands there.
    """

    producer: int
    consumer: int
    kind: str
    path: str = ""
    evidence: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFacts:
    """What the report says about a run as a whole."""

    id: UUID
    name: str
    app: str
    status: str
    source: str
    started_at: datetime | None = None
    fork_sequence_no: int | None = None
    source_run: UUID | None = None
    original: UUID | None = None  # the run that an imported replay says it replayed
    ancestors: tuple[UUID, ...] = ()  # what it derives from over any number of forks, the nearest first
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float | None = None
    duration_ms: float | None = None
    error_count: int = 0
    labels: dict[str, int] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    metadata: JSONObject = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Side:
    """A run and its steps by ascending sequence number; their signatures leave out what `ignoring` names."""

    run: RunFacts
    steps: Sequence[SideStep]
    links: Sequence[Link] = ()
    ignoring: Ignoring = NOTHING
