"""One side of a comparison: a run and its steps without payloads."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from traces.core.json_types import JSONObject
from traces.core.vocabulary import Label, StepStatus, StepType
from traces.signatures.ignore_rules import NO_RULES, IgnoreRules

# Steps that contain other steps and repeat their outputs.
CONTAINERS = frozenset({StepType.AGENT, StepType.TURN})
# In Python 3.11, reading a member of an enum takes ten times as long as reading a constant.
_TURN: Final = StepType.TURN
_MODEL: Final = StepType.MODEL
_TOOL: Final = StepType.TOOL


class SideStep(NamedTuple):
    """One step; `origin` is the recorded step that it replays over any number of forks, or itself.

    A tuple, because a diff builds 200,000 of them from database rows.
    """

    # Two corresponding steps differ in no other fields than these: `COMPARABLE`.
    input_ref: str
    output_ref: str
    status: StepStatus
    model: str
    provider: str
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None
    duration_ms: float | None
    id: UUID
    origin: UUID
    sequence_no: int
    parent_no: int | None
    type: StepType
    name: str
    tool_name: str
    call_id: str
    signature: str
    label: Label
    reason: str
    summary: str
    error: str

    @property
    def display_name(self) -> str:
        """The name that a report shows for the step."""
        return self.tool_name or self.name or self.type

    @property
    def role(self) -> str:
        """The purpose of the step; empty for turns and for steps that are named by their model.

        `chat gpt-4o`, as OpenTelemetry names calls of models, has the purpose `chat`, whichever model answers.
        """
        if self.type == _TURN or (self.type == _MODEL and self.name == self.model):
            return ""
        if self.type == _MODEL and self.names_model:
            return self.name.rpartition(" ")[0]
        return self.tool_name or self.name or self.type

    @property
    def names_model(self) -> bool:
        """True if the name ends with the model, which may be recorded with its vendor or its date."""
        last_word = self.name.rpartition(" ")[2]
        is_last = self.model.startswith(last_word) or self.model.endswith(f"/{last_word}")
        return is_last and bool(last_word) and last_word != self.name

    @property
    def tokens(self) -> int | None:
        if self.tokens_in is None or self.tokens_out is None:
            return self.tokens_out if self.tokens_in is None else self.tokens_in
        return self.tokens_in + self.tokens_out


COMPARABLE: Final = slice(SideStep._fields.index("id"))


class Link(NamedTuple):
    """Step `consumer` used the output of step `producer`; `path` points to it in the consumer's input."""

    producer: int
    consumer: int
    kind: str
    path: str = ""
    evidence: str = ""


# Reads the links from and to these steps, in the order of consumers and producers: few steps of two long runs differ.
LinkReader = Callable[[Collection[int]], Sequence[Link]]


def reader_of(links: Sequence[Link]) -> LinkReader:
    """A reader of links in memory."""
    return lambda numbers: [link for link in links if link.producer in numbers or link.consumer in numbers]


NO_LINKS: Final = reader_of(())


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFacts:
    """Facts about a run as a whole."""

    id: UUID
    name: str
    app: str
    status: str
    source: str
    started_at: datetime | None = None
    fork_sequence_no: int | None = None
    source_run: UUID | None = None
    # The source of an imported replay, as declared by the file.
    original: UUID | None = None
    # The runs it derives from over any number of forks, the nearest first.
    ancestors: tuple[UUID, ...] = ()
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
    """A run and its steps by ascending sequence number; signatures leave out the fields in `ignoring`."""

    run: RunFacts
    steps: Sequence[SideStep]
    links: LinkReader = NO_LINKS
    ignoring: IgnoreRules = NO_RULES

    @property
    def tokens(self) -> int | None:
        """Tokens of the run; None if it called models, and the recording has the tokens of no call."""
        total = self.run.tokens_in + self.run.tokens_out
        if total == 0 and any(step.type == _MODEL for step in self.steps):
            return None if all(step.tokens is None for step in self.steps) else 0
        return total


def inner_calls(steps: Sequence[SideStep]) -> dict[int, int]:
    """The innermost call of a tool around each step inside of one, by sequence numbers."""
    tools: set[int] = set()
    # Containers come before what they contain, so that no call is inside itself.
    calls: dict[int, int] = {}
    for step in steps:
        if step.parent_no is not None:
            call = step.parent_no if step.parent_no in tools else calls.get(step.parent_no)
            if call is not None:
                calls[step.sequence_no] = call
        if step.type == _TOOL:
            tools.add(step.sequence_no)
    return calls
