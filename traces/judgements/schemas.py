"""REST schemas of judgements and outcome rules."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field, StringConstraints, model_validator

from traces.core.schema import Schema
from traces.core.vocabulary import JudgementKind, JudgementSource, Outcome
from traces.ingest.outcome_rules import DEFAULT_DECIDERS, Decider, DecidingSource, OutcomeCriteria, Threshold

_NO_NUL = r"^[^\x00]*$"
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=120, pattern=_NO_NUL)]
Tag = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=_NO_NUL)]
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
    """A judgement of a run, or of its step number `step`; `at` is when it was made, else when it was stored.

    `detail` is what its source states beside the other fields, such as a correction.
    """

    id: UUID
    step: int | None
    name: str
    kind: JudgementKind
    value: float | None
    text: str
    source: JudgementSource
    by: str
    at: datetime
    detail: dict[str, Any]
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


class DeciderView(Schema):
    """Judgements that decide: of people, imported ones and tags, or checks, validators and judging models.

    With a `name`, only the judgements with that name.
    """

    source: DecidingSource
    name: Annotated[str, StringConstraints(strip_whitespace=True, max_length=120, pattern=_NO_NUL)] = ""


class OutcomeRuleRequest(Schema):
    """What decides whether runs pass. Whatever is omitted returns to its default."""

    # The bounds at which scores pass, by name.
    thresholds: Annotated[dict[Name, ThresholdView], Field(max_length=100)] = {}
    # The outcome of runs with a tag.
    tags: Annotated[dict[Tag, Literal["passed", "failed"]], Field(max_length=100)] = {}
    # The first one that applies decides, else the status of the run.
    deciders: Annotated[list[DeciderView], Field(min_length=1, max_length=20)] | None = None

    @property
    def criteria(self) -> OutcomeCriteria:
        return OutcomeCriteria(
            thresholds={name: view.threshold for name, view in self.thresholds.items()},
            tags={tag: outcome == "passed" for tag, outcome in self.tags.items()},
            deciders=DEFAULT_DECIDERS
            if self.deciders is None
            else tuple(Decider(source=decider.source, name=decider.name) for decider in self.deciders),
        )


class OutcomeRuleView(Schema):
    """The outcome rule of an app, and the defaults of what it does not set."""

    app: str
    thresholds: dict[str, ThresholdView]
    tags: dict[str, Literal["passed", "failed"]]
    deciders: list[DeciderView]
    defaults: dict[str, ThresholdView]
    default_deciders: list[DeciderView]
    by: str
    at: datetime | None
    # Whether the outcomes of all stored runs follow this rule.
    is_applied: bool


class AgreementView(Schema):
    """On how many runs a judge and people gave the same verdict, and Cohen's kappa with its 95 % interval.

    `kappa` is null if both gave the same verdict on every run, which chance explains.
    """

    runs: int
    equal_verdicts: int
    kappa: float | None
    low: float | None
    high: float | None


class JudgementName(Schema):
    """Judgements that an app's runs have under one name. `lowest` and `highest` are of scores.

    `agreement` compares them with people's; null without an app, and for judgements that people did not check.
    """

    name: str
    source: JudgementSource
    kinds: list[JudgementKind]
    count: int
    lowest: float | None
    highest: float | None
    agreement: AgreementView | None = None


class JudgementNames(Schema):
    """The names under which runs are judged, the most frequent first."""

    names: list[JudgementName]
