"""What an experiment found out about a difference: attached to a diff report, and shown with it."""

from datetime import datetime
from enum import StrEnum
from typing import Literal
from uuid import UUID

from diffing.schemas.terms import Category, Confidence, StepRef
from traces.core.json_types import JSONObject
from traces.core.schema import Schema

EvidenceVerdict = Literal["single", "joint", "over_determined", "no_effect", "noise", "inconclusive"]
ProbeOutcome = Literal["candidate", "base", "other", "needs_live", "failed"]
CertificateKind = Literal["inert", "unreached", "dominated"]
QuestionKind = Literal[
    "answer", "answer_exact", "answer_facts", "answer_alike", "tool_calls", "status", "check", "score"
]
EvidenceSide = Literal["base", "candidate"]
ProbePurpose = Literal[
    "reproduce",  # do all changes together, or none, bring back what was recorded?
    "apply",  # is this enough?
    "revert",  # can it be missing?
    "search",  # a smallest set that is enough, or cannot be missing
    "factorial",  # every combination, for shares and interactions
    "part",  # a part of a change: a sentence, a document, a field
    "clamp",  # one step as it was in the base
    "repeat",  # the same again, sampled anew
]


class EvidenceQuestion(Schema):
    """Which difference is explained. `checks` are those of `check` and `score`."""

    kind: QuestionKind
    text: str
    checks: list[JSONObject] = []


class Certificate(Schema):
    """Why taking this change alone back cannot matter in this run, known without any replay."""

    kind: CertificateKind
    reason: str


class AtomEvidence(Schema):
    """One change and what was found out about it; null: not tested.

    `sufficient`: it alone gives the base the candidate's outcome. `necessary`: without it the candidate's is gone.
    """

    id: str
    parent: str | None  # the change that this is a part of
    category: Category
    title: str
    description: str
    base: StepRef | None
    candidate: StepRef | None
    testable: bool
    why_not: str  # why no replay can apply it
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
    clamped: int | None  # the candidate's step that answered as its counterpart in the base
    outcome: ProbeOutcome
    said: str  # what came out, in short
    missing: str  # what a replay would have to run for an answer
    repeats: int
    executed_steps: int
    cached_calls: int
    live_calls: int
    cost_usd: float | None  # null: unknown
    run: UUID | None  # the derived run, where it was a real session


class Mediator(Schema):
    """A step through which the cause worked. Tested: with its old answer the old outcome came back."""

    step: StepRef
    role: Literal["entry", "between", "commitment"]
    evidence: Literal["tested", "inferred"]
    text: str


class Interval(Schema):
    """The 95 % interval of a rate."""

    low: float
    high: float


class GateStatus(StrEnum):
    """Whether it was rejected that chance alone explains the difference. `not_run`: repeats do not tell yet."""

    NOT_NEEDED = "not_needed"
    RULED_OUT = "rejected"
    NOT_RULED_OUT = "not_rejected"
    NOT_RUN = "not_run"


class NoiseGate(Schema):
    """Whether chance alone could have made the difference: both sides repeated unchanged."""

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
    """How much two changes do together beyond what each does alone; negative: they do the same thing."""

    one: str
    other: str
    value: float


class CheapestExperiment(Schema):
    """What would settle it; the estimate of the cost is null where no price is known."""

    text: str
    replays: int
    live_calls: int
    cost_usd: float | None


class Findings(Schema):
    """What the probes made so far say. Budget and time only ever add to it."""

    question: EvidenceQuestion
    verdict: EvidenceVerdict
    conclusion: str
    confidence: Confidence
    rule: str  # the row of the table that gave the confidence
    primary: list[list[str]]  # the smallest sets of changes that are enough; several when it is over-determined
    atoms: list[AtomEvidence]
    probes: list[ProbeEvidence]
    mediators: list[Mediator]
    noise: NoiseGate
    interactions: list[Interaction]
    shares: Literal["exact", "sampled", "none"]  # how the Shapley shares were found
    replays_cached: int
    replays_live: int
    steps_executed: int
    live_calls: int
    cost_usd: float | None
    features: list[str]  # what was compared
    scope: Literal["in this run", "over repeats"]
    repeats: int
    assumptions: list[str]
    stopped: Literal["", "budget", "cancelled"]
    cheapest_experiment: CheapestExperiment | None


class Evidence(Findings):
    """Findings as they are stored: one for each question about a report."""

    id: UUID
    diff: UUID
    created_at: datetime
