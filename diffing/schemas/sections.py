"""What differs between two runs: pairs of steps, and the differences within a pair, by section of the report."""

from collections.abc import Sequence
from typing import Literal

from diffing.schemas.terms import StepRef
from traces.core.json_types import JSONValue
from traces.core.schema import Schema, schema_item

Relation = Literal["same", "changed", "moved", "added", "removed"]
FoundBy = Literal["lineage", "signature", "sequence", "similarity", "none"]
SectionName = Literal["prompt", "retrieval", "tool", "model", "output", "run"]
Similarity = Literal["identical", "embeddings", "difflib", "jaccard", "empty"]


@schema_item
class AlignedPair:
    """Two corresponding steps, or an unpaired one; `changes` names the differing fields.

    They are input, output, status, model, parameters, tokens, cost and duration.
    """

    base: StepRef | None
    candidate: StepRef | None
    relation: Relation
    found_by: FoundBy
    confidence: float
    changes: Sequence[str]


class TextSpan(Schema):
    op: Literal["equal", "insert", "delete"]
    text: str


class TextDiff(Schema):
    """Word-level diff of the normalised texts; the steps have the raw texts."""

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
    # Rank-biased overlap, p = 0.9.
    rbo: float
    # Over the documents in both lists; null if they share fewer than two.
    kendall_tau: float | None


class MessageChange(Schema):
    """One entry of a message-list diff; a side without the message has no index."""

    op: Literal["added", "removed", "changed"]
    role: str
    base_index: int | None
    candidate_index: int | None
    text: TextDiff | None


class SectionItem(Schema):
    """One difference, with the comparisons that apply to it."""

    # For example "system prompt", "message list", "arguments", "result", "completion", "parameters".
    kind: str
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
