"""The diff report: what JSON, Markdown, HTML, the browser and the share page are made from."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import Field, model_validator

from diffing.schemas.evidence import Evidence
from diffing.schemas.terms import Category, Confidence, StepRef
from traces.core.json_types import JSONValue
from traces.core.schema import Schema
from traces.core.statuses import Status
from traces.core.vocabulary import EdgeKind, Outcome

Relation = Literal["same", "changed", "moved", "added", "removed"]
FoundBy = Literal["lineage", "signature", "sequence", "similarity", "none"]
SectionName = Literal["prompt", "retrieval", "tool", "model", "output", "run"]
Similarity = Literal["identical", "embeddings", "difflib", "jaccard", "empty"]
Audience = Literal["anyone", "signed_in", "people"]


class AlignedPair(Schema):
    """`changes` names what differs: input, output, status, model, parameters, tokens, cost, duration."""

    base: StepRef | None
    candidate: StepRef | None
    relation: Relation
    found_by: FoundBy
    confidence: float
    changes: list[str]


class TextSpan(Schema):
    op: Literal["equal", "insert", "delete"]
    text: str


class TextDiff(Schema):
    """Word-level diff of the normalised texts; the raw texts are on the two steps."""

    spans: list[TextSpan]
    similarity: float
    method: Similarity
    truncated: bool = False


class ValueChange(Schema):
    """One difference between two JSON values, by JSON pointer."""

    path: str
    op: Literal["added", "removed", "changed"]
    base: JSONValue = None
    candidate: JSONValue = None


class RankChange(Schema):
    document: str
    title: str
    op: Literal["added", "removed", "moved", "same", "rescored"]
    base_rank: int | None
    candidate_rank: int | None
    base_score: float | None
    candidate_score: float | None


class RankComparison(Schema):
    changes: list[RankChange]
    rbo: float  # rank-biased overlap, p = 0.9
    kendall_tau: float | None  # over the documents in both; null under two of them


class MessageChange(Schema):
    """One entry of a message-list diff; `index` counts on the side(s) that have the message."""

    op: Literal["added", "removed", "changed"]
    role: str
    base_index: int | None
    candidate_index: int | None
    text: TextDiff | None


class SectionItem(Schema):
    """One thing that changed. Only the comparisons that apply are present."""

    kind: str  # e.g. "system prompt", "message list", "arguments", "result", "completion", "parameters"
    title: str
    relation: Relation
    base: StepRef | None
    candidate: StepRef | None
    similarity: float | None = None
    text: TextDiff | None = None
    values: list[ValueChange] = []
    ranks: RankComparison | None = None
    messages: list[MessageChange] = []


class Unavailable(Schema):
    what: str
    reason: str
    base: StepRef | None = None
    candidate: StepRef | None = None


class Section(Schema):
    name: SectionName
    summary: str
    items: list[SectionItem]
    unavailable: list[Unavailable]


class Sections(Schema):
    prompt: Section
    retrieval: Section
    tool: Section
    model: Section
    output: Section
    run: Section


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
    imported: dict[str, JSONValue]  # scores that came inside the imported files


class Deltas(Schema):
    """Candidate minus base; null when one side is unknown."""

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
    """One link from cause to effect, with the text that carried it."""

    step: StepRef
    side: Literal["base", "candidate"]
    via: EdgeKind | Literal["cause"]
    text: str
    evidence: Literal["tested", "inferred"]


class Cause(Schema):
    """One suspected cause. `category` follows the order of the replay-fork-diff document."""

    category: Category
    title: str
    description: str
    base: StepRef | None
    candidate: StepRef | None


class Attribution(Schema):
    verdict: Literal["cause", "no_difference", "no_effect", "noise", "inconclusive"]
    sentence: str
    primary: Cause | None
    supporting: list[Cause]
    path: list[PathLink]
    confidence: Confidence | None
    evidence: list[str]
    alternatives: list[Cause]
    cheapest_experiment: str


class Brief(Schema):
    """The report for a reader who knows nothing else, in sentences. The cause itself is the attribution's sentence."""

    compared: str
    changed: str
    confidence: str  # high, medium or low, or why there is none
    why: str
    next: str


class RunRef(Schema):
    id: UUID
    name: str
    app: str
    status: str
    source: str
    fork_sequence_no: int | None
    source_run: UUID | None
    original: UUID | None = None  # the run that an imported replay says it replayed


class DiffOptions(Schema):
    """`similarity`: auto takes embeddings where the extra is installed."""

    similarity: Literal["auto", "lexical"] = "auto"


class DiffRequest(Schema):
    base: str
    candidate: str
    options: DiffOptions = Field(default_factory=DiffOptions)


class LaneStep(Schema):
    """A step of the base that came out otherwise: in the candidate, in the unchanged replay, or in both."""

    base: StepRef
    candidate: StepRef | None
    unchanged: StepRef | None
    with_changes: Relation
    without_changes: Relation
    changes: list[str]  # what differs without the changes


class UnchangedLane(Schema):
    """The base replayed without the candidate's changes: what replaying alters by itself is not due to them."""

    id: UUID
    created_at: datetime
    run: RunRef
    diff: UUID  # the report of base and unchanged replay
    session: UUID | None
    how: str  # what was asked again, in words
    sentence: str
    answer_differs: bool
    scores: Scores
    added: int  # steps that only the unchanged replay has
    steps: list[LaneStep]


class RunVerdict(Schema):
    outcome: Outcome
    reason: str


class RunVerdicts(Schema):
    """Whether each side did its task, as it is judged now."""

    base: RunVerdict
    candidate: RunVerdict


class DiffReport(Schema):
    """Immutable, addressed by (base, candidate, options), but for the evidence and the outcomes: they may come later.

    `attribution` is what the strongest evidence says. Where that comes from an experiment, `observed` is what the
    recordings alone had said.
    """

    schema_version: Literal["1"] = "1"
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
    observed: Attribution | None = None
    evidence: list[Evidence] = []  # of experiments, the newest for each question
    unchanged: UnchangedLane | None = None  # once the base was replayed without the changes
    brief: Brief | None = None  # null only while the report is being written
    outcomes: RunVerdicts | None = None  # null only while the report is being written


class DiffStatus(Status):
    """A report that could not be made may be asked for again, and several may make it at once: the first stays."""

    PENDING = "pending"
    READY = "ready"
    FAILED = "failed"

    @classmethod
    def moves(cls) -> Mapping[Self, AbstractSet[Self]]:
        return {cls.PENDING: {cls.READY, cls.FAILED}, cls.FAILED: {cls.PENDING, cls.READY, cls.FAILED}}


class DiffPending(Schema):
    """A report that is not there yet: ask for it again. `failed` says why; requesting the diff again tries again."""

    id: UUID
    status: Literal[DiffStatus.PENDING, DiffStatus.FAILED]
    error: str


class DiffSummary(Schema):
    id: UUID
    created_at: datetime
    base: RunRef
    candidate: RunRef
    sentence: str
    ars: float
    confidence: Confidence | None


class DiffList(Schema):
    diffs: list[DiffSummary]


class ShareRequest(Schema):
    """Who may open the link, until when and how often. `people` are names of API tokens, for that audience."""

    expires_in_s: Annotated[int, Field(gt=0, le=3_650 * 86_400)] | None = None
    audience: Audience = "anyone"
    people: Annotated[list[Annotated[str, Field(min_length=1, max_length=120)]], Field(max_length=100)] = []
    max_views: Annotated[int, Field(gt=0, le=1_000_000)] | None = None

    @model_validator(mode="after")
    def _names_people_or_not(self) -> "ShareRequest":
        if (self.audience == "people") != bool(self.people):
            raise ValueError("`people` goes with the audience `people`, which needs at least one name")
        return self


class ShareView(Schema):
    """`url` holds the token and is present only in the answer that created the link."""

    id: UUID
    diff: UUID
    url: str | None
    created_at: datetime
    created_by: str
    audience: Audience
    people: list[str]
    expires_at: datetime | None
    revoked_at: datetime | None
    max_views: int | None
    views: int
    opens: bool  # false: expired, revoked, seen as often as it may be, or sharing is off


class ShareList(Schema):
    """`enabled` false: the server's operator switched sharing off, and no link opens."""

    enabled: bool
    shares: list[ShareView]
