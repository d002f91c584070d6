"""The diff report, as the source of JSON, Markdown, HTML, the browser and the share page."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Final, Literal, Self
from uuid import UUID

from pydantic import Field, model_validator

from diffing.schemas.evidence import Evidence
from diffing.schemas.sections import AlignedPair, Relation, Sections, TextSpan
from diffing.schemas.terms import AttributionVerdict, Category, Confidence, StepRef
from traces.core.json_types import JSONObject, JSONValue
from traces.core.schema import Schema
from traces.core.statuses import Status
from traces.core.vocabulary import EdgeKind, JudgementSource, Outcome
from traces.schemas import Caption


class ToolAccuracy(Schema):
    total_original: int
    used_original: int
    new: int
    unused: int


class Scores(Schema):
    """ARS as Kurral defines it: 0.7 output similarity + 0.3 tool accuracy, rounded to 4 places."""

    ars: float
    ars_reading: str
    output_similarity: float
    tool_accuracy: float
    tools: ToolAccuracy
    similarity_method: str
    determinism: float | None
    # Scores from the imported files.
    imported: dict[str, JSONValue]


class Deltas(Schema):
    """Candidate minus base; null if one side is unknown."""

    tokens: int | None
    cost_usd: float | None
    duration_ms: float | None
    steps: int
    spans_with_differences: int
    output_changes: int
    token_changes: int
    cost_changes: int
    duration_changes: int


class PathLink(Schema):
    """One link from cause to effect, with a note of what differs there."""

    step: StepRef
    side: Literal["base", "candidate"]
    via: EdgeKind | Literal["cause"]
    # The texts of the spans make up the note.
    note: list[TextSpan]
    evidence: Literal["tested", "inferred"]

    @model_validator(mode="before")
    @classmethod
    def _read_text(cls, link: JSONObject) -> JSONObject:
        """Read a link of a stored report of version 1 or 2, whose note is a text without marks."""
        if not isinstance(text := link.get("text"), str):
            return link
        rest = {key: value for key, value in link.items() if key != "text"}
        return {**rest, "note": [{"op": "equal", "text": text}]}


class Cause(Schema):
    """One possible cause; `category` follows the order of the replay-fork-diff document."""

    category: Category
    title: str
    description: str
    base: StepRef | None
    candidate: StepRef | None


class Headline(Schema):
    """A verdict in at most two lines: what changed, what it did, and the doubt that remains."""

    # Empty if the verdict names no change.
    cause: str
    effect: str
    caution: str = ""


class Attribution(Schema):
    verdict: AttributionVerdict
    # Null in reports of version 1.
    headline: Headline | None = None
    sentence: str
    primary: Cause | None
    supporting: list[Cause]
    path: list[PathLink]
    confidence: Confidence | None
    evidence: list[str]
    alternatives: list[Cause]
    cheapest_experiment: str


class Brief(Schema):
    """The first lines of a report, in sentences. The sentence of the attribution states the cause."""

    compared: str
    changed: str
    # High, medium or low, or why there is none.
    confidence: str
    why: str
    next: str


class FinalAnswers(Schema):
    """The beginning of both final answers; null if a run has none, or did not run the step that gives it."""

    base: str | None
    candidate: str | None


class RunRef(Schema):
    id: UUID
    name: str
    app: str
    status: str
    source: str
    fork_sequence_no: int | None
    source_run: UUID | None
    # The source of an imported replay, as declared by the file.
    original: UUID | None = None


class DiffOptions(Schema):
    """`similarity`: `auto` uses embeddings if the extra is installed."""

    similarity: Literal["auto", "lexical"] = "auto"


class DiffRequest(Schema):
    base: str
    candidate: str
    options: DiffOptions = Field(default_factory=DiffOptions)


class LaneStep(Schema):
    """A step of the base that differs in the candidate, in the unchanged replay, or in both."""

    base: StepRef
    candidate: StepRef | None
    unchanged: StepRef | None
    with_changes: Relation
    without_changes: Relation
    # The differing fields without the changes.
    changes: list[str]


class UnchangedLane(Schema):
    """The base replayed without the candidate's changes: its differences are not due to the changes."""

    id: UUID
    created_at: datetime
    run: RunRef
    # The report of base and unchanged replay.
    diff: UUID
    session: UUID | None
    # Which calls were made again.
    how: str
    sentence: str
    answer_differs: bool
    scores: Scores
    # Steps that only the unchanged replay has.
    added: int
    steps: list[LaneStep]


class RunVerdict(Schema):
    """The outcome of a run; `basis` is the source of the judgement that decided it (null: the run's status)."""

    outcome: Outcome
    basis: JudgementSource | None = None
    reason: str


class RunVerdicts(Schema):
    """The current verdicts on whether each run did its task."""

    base: RunVerdict
    candidate: RunVerdict


class RunCaptions(Schema):
    """What tells the two runs from others."""

    base: Caption
    candidate: Caption


class NewerRevision(Schema):
    """The newest revision of a run; `added_steps` counts the steps that the run does not have."""

    id: UUID
    revision: int
    added_steps: int


class NewerRevisions(Schema):
    """Newer revisions of the compared runs; null for a run without one."""

    base: NewerRevision | None
    candidate: NewerRevision | None


class RunDeletions(Schema):
    """When the compared runs were deleted; null for a run that exists. Their contents are removed later."""

    base: datetime | None
    candidate: datetime | None


class DiffReport(Schema):
    """A report of two runs, addressed by (base, candidate, options).

    It is immutable, except for later evidence, outcomes, revisions and deletions. `attribution` follows the strongest
    evidence. If that comes from a proof, `observed` is the attribution by the recordings alone.
    """

    schema_version: Literal["1", "2", "3"] = "3"
    id: UUID
    created_at: datetime
    base: RunRef
    candidate: RunRef
    options: DiffOptions
    summary: str
    pairs: list[AlignedPair]
    sections: Sections
    scores: Scores
    deltas: Deltas
    attribution: Attribution
    # Null in reports of version 1.
    answers: FinalAnswers | None = None
    observed: Attribution | None = None
    # The newest evidence for each question.
    evidence: list[Evidence] = []
    # Null before the base is replayed without the changes.
    unchanged: UnchangedLane | None = None
    # Null only while the report is computed.
    brief: Brief | None = None
    # Null only while the report is computed.
    outcomes: RunVerdicts | None = None
    # Null only while the report is computed.
    captions: RunCaptions | None = None
    # Null only while the report is computed.
    newer_revisions: NewerRevisions | None = None
    # Null only while the report is computed.
    deletions: RunDeletions | None = None


# Fields of a report that follow the current state of its runs, and are not stored with it.
CURRENT_FIELDS: Final = frozenset({"outcomes", "captions", "newer_revisions", "deletions"})


class DiffStatus(Status):
    """The states of a report; of parallel computations, the first is stored."""

    PENDING = "pending"
    READY = "ready"
    FAILED = "failed"
    # A run that it compares was deleted, and the content of the report with it.
    SOURCE_DELETED = "deleted"

    @classmethod
    def moves(cls) -> Mapping[Self, AbstractSet[Self]]:
        return {cls.PENDING: {cls.READY, cls.FAILED}, cls.FAILED: {cls.PENDING, cls.READY, cls.FAILED}}


class DiffPending(Schema):
    """A report that is not ready; `error` has the reason of a failure, and a new request retries it."""

    id: UUID
    status: Literal[DiffStatus.PENDING, DiffStatus.FAILED]
    error: str


class DiffSummary(Schema):
    id: UUID
    created_at: datetime
    base: RunRef
    candidate: RunRef
    outcomes: RunVerdicts
    captions: RunCaptions
    # Null if a proof decides: then the sentence is its conclusion.
    headline: Headline | None
    sentence: str
    ars: float
    confidence: Confidence | None


class DiffList(Schema):
    diffs: list[DiffSummary]
