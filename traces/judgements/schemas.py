"""REST schemas of judgements and outcome rules."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, StringConstraints, model_validator

from traces.core.schema import Schema
from traces.core.vocabulary import JudgementKind, JudgementSource, Outcome
from traces.ingest.outcome_rules import Threshold

_NO_NUL = r"^[^\x00]*$"
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=120, pattern=_NO_NUL)]
Comment = Annotated[str, StringConstraints(strip_whitespace=True, max_length=10_000, pattern=_NO_NUL)]
Score = Annotated[float, Field(allow_inf_nan=False)]


class JudgementRequest(Schema):
    """A new judgement: `value` is the number of a score, `text` a note or comment, `step` a sequence number."""

    kind: Literal["pass", "fail", "score", "note"]
    name: Name = "verdict"
    value: Score | None = None
    text: Comment = ""
    step: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _check_kind(self) -> "JudgementRequest":
        if (self.value is not None) is not (self.kind == "score"):
            raise ValueError("a score needs a `value`; other kinds must not have one")
        if self.kind == "note" and not self.text:
            raise ValueError("a note needs a `text`")
        return self


class JudgementView(Schema):
    """A judgement of a run, or of its step number `step`; `at` is when it was made, else when it was stored."""

    id: UUID
    step: int | None
    name: str
    kind: JudgementKind
    value: float | None
    text: str
    source: JudgementSource
    by: str
    at: datetime
    mine: bool  # made by the caller, who may withdraw it
    withdrawn_at: datetime | None


class JudgementList(Schema):
    """The outcome of a run and its judgements, oldest first."""

    outcome: Outcome
    outcome_basis: JudgementSource | None
    outcome_reason: str
    judgements: list[JudgementView]
    next: UUID | None  # pass as `after` for the rest


class ThresholdView(Schema):
    """The bound at which a score passes: exactly one of `at_least` and `at_most`."""

    at_least: Score | None = None
    at_most: Score | None = None

    @model_validator(mode="after")
    def _check_bound(self) -> "ThresholdView":
        if (self.at_least is None) is (self.at_most is None):
            raise ValueError("give either `at_least` or `at_most`")
        return self

    @property
    def threshold(self) -> Threshold:
        return Threshold(at_least=self.at_least, at_most=self.at_most)


class OutcomeRuleRequest(Schema):
    """The bounds at which scores pass, by name; omitted names return to the default."""

    thresholds: Annotated[dict[Name, ThresholdView], Field(max_length=100)]


class OutcomeRuleView(Schema):
    """The outcome rule of an app: its own thresholds, and the defaults for other names."""

    app: str
    thresholds: dict[str, ThresholdView]
    defaults: dict[str, ThresholdView]
    by: str
    at: datetime | None
