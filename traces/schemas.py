"""REST schemas of recorded runs. The front end's types are generated from these."""

from datetime import datetime
from typing import Annotated, Final, Literal
from uuid import UUID

from pydantic import Field

from traces.core.json_types import JSONObject, JSONValue
from traces.core.schema import ForkChange, LabelCounts, Schema
from traces.core.vocabulary import EdgeKind, JudgementSource, Label, Outcome, RunSource, RunStatus, StepStatus, StepType

MAX_ARCHIVE_RUNS: Final = 200


class Caption(Schema):
    """What tells a run from others: what a fork changes, its answer, and the name and the note that users gave it."""

    title: str  # the name that users gave the run; empty: none
    note: str
    change: ForkChange | None  # null: not a fork, or not known
    answer: str  # the beginning of the last answer, in one line; empty: none was recorded


class RunSummary(Caption):
    """A row of the list of runs. An unknown cost is null, never 0."""

    id: UUID
    external_id: str
    revision: int  # from 1, within app and external id
    supersedes: UUID | None  # the revision that it continues
    name: str
    app: str
    environment: str
    source: RunSource
    format: str
    status: RunStatus
    outcome: Outcome
    outcome_basis: JudgementSource | None  # source of the judgement that decided; null: the run's status
    outcome_reason: str
    started_at: datetime | None
    ended_at: datetime | None
    created_at: datetime
    sealed: bool
    problem: str  # what of the recording could not be read or contradicts the rest; empty: nothing
    is_pinned: bool
    is_held: bool  # its own legal hold; a policy may hold it, too
    tags: list[str]
    steps: int
    errors: int
    tokens_in: int
    tokens_out: int
    cost_usd: float | None
    duration_ms: float | None
    model: str  # of the first model call; empty: not recorded
    labels: LabelCounts
    source_run: UUID | None
    source_outcome: Outcome | None  # of the run that it was forked from
    source_answer: str | None
    fork_sequence_no: int | None
    session_id: UUID | None


class RunRevision(Schema):
    """A stored run with the same app and external id.

    It continues the revision that it `supersedes`; without one, it is the first, or a conflicting recording.
    """

    id: UUID
    revision: int
    supersedes: UUID | None
    steps: int
    created_at: datetime


class RunDetail(RunSummary):
    """A run with its metadata, and the runs derived from it.

    `original` is the original run of an imported replay, if that is stored too. `revisions` are all runs of its
    identity, newest first, if there are several; `latest` is the newest revision that continues this run.
    """

    metadata: JSONObject
    revisions: list[RunRevision]
    latest: UUID | None
    source_run_name: str | None
    source_deleted_at: datetime | None  # when the source was deleted; null: it exists
    source_removed_at: datetime | None  # when its contents were removed; null: it can be restored
    original: UUID | None
    original_name: str | None
    derived: list[RunSummary]


class UsageSum(Schema):
    """Model calls with their tokens and cost; `reused_calls` were answered from a recording at no cost."""

    calls: int
    reused_calls: int
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    cost_usd: float | None  # of the calls with a known cost; null if there are none
    unpriced_calls: int


class ModelUsage(Schema):
    provider: str
    model: str
    usage: UsageSum


class TurnUsage(Schema):
    """A turn: a turn step with its children, or a model call outside of any turn step."""

    turn: int  # from 0
    step: int
    name: str
    models: list[str]
    usage: UsageSum


class RunUsage(Schema):
    total: UsageSum
    models: list[ModelUsage]
    turns: list[TurnUsage]


class SnippetPart(Schema):
    """A piece of a text; `is_match`: a word of the search."""

    text: str
    is_match: bool


class SearchHit(Schema):
    """The step of a run that contains most words of a search, and the text around the first of them."""

    run: UUID
    step: int
    name: str
    type: StepType
    snippet: list[SnippetPart]


class RunFamily(Schema):
    """A run of a list with the forks below it."""

    root: UUID
    forks: int
    matches: int  # forks that match the filters
    is_match: bool  # the run itself matches the filters
    runs: list[RunSummary]  # the matching forks, newest first; empty if there are more than a few


class RunList(Schema):
    runs: list[RunSummary]
    families: list[RunFamily]  # of the runs with forks, if forks are listed below their first run
    next: str | None
    total: int | None  # of all pages, on the first one; null if counting would cost more than listing
    more_than_total: bool = False  # there are more runs than `total`: counting stopped there
    hits: list[SearchHit] = []  # of a search: where the payloads of these runs matched
    unindexed_runs: int = 0  # of a search: sealed runs whose payloads are not searchable yet, counted up to 1,000


class FailedStep(Schema):
    """A step with the status *error* or *timeout*; `error` is cut to 500 characters."""

    run: UUID
    run_name: str
    app: str
    step: int
    type: StepType
    name: str
    tool_name: str
    model: str
    status: StepStatus
    started_at: datetime | None
    error: str


class FailedStepList(Schema):
    steps: list[FailedStep]
    next: str | None


class Facet(Schema):
    value: str
    count: int


class RunFacets(Schema):
    """The values that the filters of the runs list offer."""

    apps: list[Facet]
    environments: list[Facet]
    statuses: list[Facet]
    outcomes: list[Facet]
    sources: list[Facet]
    tags: list[Facet]


class StepSummary(Schema):
    """A step without its payloads. `offset_ms` counts from the run's start; null if not recorded."""

    id: UUID
    sequence_no: int
    parent: int | None  # sequence_no of the parent
    type: StepType
    name: str
    summary: str
    status: StepStatus
    label: Label
    reason: str
    offset_ms: float | None
    duration_ms: float | None
    provider: str
    model: str
    tool_name: str
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None
    retries: int
    source_step: UUID | None


class StepList(Schema):
    steps: list[StepSummary]
    next: int | None  # pass as `after` for the rest


class LostPayloadView(Schema):
    """An unreadable payload, with the artifact at fault."""

    field: str
    loss: Literal["not_recorded", "missing", "damaged"]
    digest: str


class FullStep(StepSummary):
    """A step with its payloads; `unavailable` lists the payloads with a missing or damaged part."""

    external_id: str
    error: str
    signature: str
    call_id: str
    tokens_cached: int | None
    detail: JSONObject
    started_at: datetime | None
    ended_at: datetime | None  # null if the duration was not recorded
    tags: list[str]
    attributes: JSONObject
    input: JSONValue
    output: JSONValue
    unavailable: list[str]
    lost: list[LostPayloadView]  # the same with the artifacts at fault


class FullStepList(Schema):
    steps: list[FullStep]
    next: int | None  # pass as `after` for the rest


class EdgeView(Schema):
    """A provenance edge; `step` is its other end: the producer in `consumed`, the consumer in `produced_for`.

    The paths are JSON pointers into the consumer's input and the producer's output.
    """

    step: int
    step_id: UUID
    type: StepType
    name: str
    kind: EdgeKind
    evidence: str
    consumer_path: str
    producer_path: str


class RunEdge(Schema):
    """The step `consumer` consumed what the step `producer` produced; both are sequence numbers."""

    producer: int
    consumer: int
    kind: EdgeKind


class EdgeList(Schema):
    edges: list[RunEdge]
    next: int | None  # pass as `after` for the rest


class StepDetail(StepSummary):
    """A step with its payloads and provenance."""

    run: UUID
    external_id: str
    started_at: datetime | None
    error: str
    signature: str
    call_id: str
    tokens_cached: int | None
    input: JSONValue
    output: JSONValue
    input_ref: str
    output_ref: str
    unavailable: list[str]  # payload fields whose artifact is missing or damaged, by name
    lost: list[LostPayloadView]  # the same with the artifacts at fault
    inherited_messages: int  # how many of input.messages the previous call of the same loop already had
    redactions: dict[str, str]  # why values were replaced, by the kind that their markers name
    attributes: JSONObject
    detail: JSONObject
    consumed: list[EdgeView]
    produced_for: list[EdgeView]


class ImportedRun(Schema):
    id: UUID
    external_id: str
    name: str
    app: str
    status: RunStatus
    steps: int
    format: str
    created: bool  # false: the same run was stored already
    revision: int = 1
    supersedes: UUID | None = None  # the stored run that it continues
    conflicts_with: UUID | None = None  # a stored run with the same identity that it contradicts; both are kept
    lost: list[str] = []  # artifacts that neither the exporting server nor this one has


class SkippedFile(Schema):
    path: str
    reason: str
    where: str = ""  # line, JSON pointer or byte offset inside the file


class UnreadMember(Schema):
    path: str  # the first file with it
    member: str  # JSON pointer without the places in lists
    values: int


class ImportReport(Schema):
    runs: list[ImportedRun]
    skipped: list[SkippedFile]
    unread: list[UnreadMember] = []  # values of the files that are in no run


class BundleRequest(Schema):
    """The run to export: an id, a unique prefix of one, an external id, or `last`."""

    run: str


class ArchiveRequest(Schema):
    """The runs to export into one file, each as in a request for one."""

    runs: Annotated[list[str], Field(min_length=1, max_length=MAX_ARCHIVE_RUNS)]


class RejectedEvent(Schema):
    line: int  # from 1; of a list: its place there
    reason: str


class EventReceipt(Schema):
    """The number of stored events, and the events that could not be stored."""

    accepted: int
    rejected: list[RejectedEvent]


class SessionFile(Schema):
    """A file of a session, as far as it is stored."""

    size: int  # bytes
