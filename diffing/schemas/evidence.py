"""Evidence: the findings of a proof about a difference, attached to a diff report."""

from datetime import datetime
from enum import StrEnum
from typing import Literal
from uuid import UUID

from diffing.schemas.terms import Category, Confidence, StepRef
from traces.core.json_types import JSONObject
from traces.core.schema import Schema

CertificateKind = Literal["inert", "unreached", "dominated"]
QuestionKind = Literal[
    "answer",
    "answer_exact",
    "answer_facts",
    "answer_alike",
    "tool_calls",
    "status",
    "check",
    "score",
    # The app's outcome rule.
    "outcome",
    # One judgement by its name.
    "judgement",
]
EvidenceSide = Literal["base", "candidate"]
ProbePurpose = Literal[
    # All changes together, or none: does the replay reproduce the recording?
    "reproduce",
    # One change on the base: is it sufficient?
    "apply",
    # The candidate without one change: is it necessary?
    "revert",
    # The search for a smallest sufficient or necessary set.
    "search",
    # Every combination, for shares and interactions.
    "factorial",
    # A part of a change: a sentence, a document, a field.
    "part",
    # One step with its output of the base.
    "clamp",
    # An unchanged repeat with new samples.
    "repeat",
    # The agent itself, started unchanged: does it do what is recorded?
    "control",
]


class EvidenceVerdict(StrEnum):
    """What the replays of a proof show: one cause, several, or none."""

    SINGLE = "single"
    JOINT = "joint"
    OVER_DETERMINED = "over_determined"
    NO_EFFECT = "no_effect"
    NOISE = "noise"
    INCONCLUSIVE = "inconclusive"

    @property
    def names_cause(self) -> bool:
        return self in {EvidenceVerdict.SINGLE, EvidenceVerdict.JOINT, EvidenceVerdict.OVER_DETERMINED}


class ProbeOutcome(StrEnum):
    """Whose outcome a probe had, or why it has none. `needs_live`: nothing gave an answer that no run recorded."""

    CANDIDATE = "candidate"
    BASE = "base"
    OTHER = "other"
    NEEDS_LIVE = "needs_live"
    FAILED = "failed"

    @property
    def is_settled(self) -> bool:
        return self not in {ProbeOutcome.NEEDS_LIVE, ProbeOutcome.FAILED}


class EvidenceQuestion(Schema):
    """The difference to explain.

    `checks` belong to the kinds `check` and `score`. With `outcome` and `judgement`, they stand in for judgements that
    a replay cannot produce. `judgement` and its bounds belong to that kind.
    """

    kind: QuestionKind
    text: str
    checks: list[JSONObject] = []
    judgement: str = ""
    at_least: float | None = None
    at_most: float | None = None


class Certificate(Schema):
    """Why reverting this change alone has no effect in this run, known without a replay."""

    kind: CertificateKind
    reason: str


class AtomEvidence(Schema):
    """One change with its findings; null: not tested.

    `sufficient`: alone it gives the base the candidate's outcome. `necessary`: without it, the candidate loses its
    outcome.
    """

    id: str
    # The change that this is a part of.
    parent: str | None
    category: Category
    title: str
    description: str
    base: StepRef | None
    candidate: StepRef | None
    testable: bool
    # Why no replay can apply it.
    why_not: str
    certificate: Certificate | None
    sufficient: bool | None
    necessary: bool | None
    shapley: float | None


class ProbeEvidence(Schema):
    """One counterfactual replay: a side with exactly the `applied` changes."""

    number: int
    purpose: ProbePurpose
    applied: list[str]
    side: EvidenceSide
    # The candidate's step that gets the output of its partner in the base.
    clamped: int | None
    outcome: ProbeOutcome
    # The outcome in short.
    said: str
    # The live call that the replay would have needed.
    missing: str
    repeats: int
    # Of each repeat; empty in evidence that was stored without them.
    outcomes: list[ProbeOutcome] = []
    executed_steps: int
    cached_calls: int
    live_calls: int
    # Null: unknown.
    cost_usd: float | None
    # The derived run of a replay in a real session.
    run: UUID | None


class Mediator(Schema):
    """A step on the path of the cause. Tested: with its old output, the old outcome returned."""

    step: StepRef
    role: Literal["entry", "between", "commitment"]
    evidence: Literal["tested", "inferred"]
    text: str


class Interval(Schema):
    """The 95 % interval of a rate."""

    low: float
    high: float


class GateStatus(StrEnum):
    """Whether chance alone is rejected as an explanation. `not_run`: no repeats that could decide it."""

    NOT_NEEDED = "not_needed"
    RULED_OUT = "rejected"
    NOT_RULED_OUT = "not_rejected"
    NOT_RUN = "not_run"


class NoiseGate(Schema):
    """The test of chance alone: unchanged repeats of both sides."""

    status: GateStatus
    reason: str
    base_flips: int
    base_n: int
    base_interval: Interval | None
    candidate_flips: int
    candidate_n: int
    candidate_interval: Interval | None
    p: float | None


class Interaction(Schema):
    """The effect of two changes together beyond their separate effects; negative: they overlap."""

    one: str
    other: str
    value: float


class CheapestExperiment(Schema):
    """The experiment that would settle the question; the estimated cost is null if a price is unknown."""

    text: str
    replays: int
    live_calls: int
    cost_usd: float | None


class Findings(Schema):
    """The findings of the replays so far; more budget or time only adds to them."""

    question: EvidenceQuestion
    verdict: EvidenceVerdict
    conclusion: str
    confidence: Confidence
    # The rule that gave the confidence.
    rule: str
    # The smallest sufficient sets of changes; several if the difference is over-determined.
    primary: list[list[str]]
    atoms: list[AtomEvidence]
    probes: list[ProbeEvidence]
    mediators: list[Mediator]
    noise: NoiseGate
    interactions: list[Interaction]
    # How the Shapley shares were computed.
    shares: Literal["exact", "sampled", "none"]
    replays_cached: int
    replays_live: int
    steps_executed: int
    live_calls: int
    cost_usd: float | None
    # The agent itself ran in every replay; false in evidence that was stored before it could.
    agent_ran: bool = False
    # The compared features of the outcome.
    features: list[str]
    scope: Literal["in this run", "over repeats"]
    repeats: int
    assumptions: list[str]
    stopped: Literal["", "budget", "cancelled"]
    cheapest_experiment: CheapestExperiment | None


class Evidence(Findings):
    """Stored findings: one for each question about a report."""

    id: UUID
    diff: UUID
    created_at: datetime
