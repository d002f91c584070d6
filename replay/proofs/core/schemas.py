"""What the REST interface says about proofs."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from diffing.schemas.evidence import Findings, QuestionKind
from replay.checks.schemas import Check
from replay.core.vocabulary import ProofStatus
from replay.overrides.policy import CallCount, Dollars, Policy
from traces.core.schema import Schema

Stage = Literal["noise", "search", "shares", "parts", "mediators", ""]


class ProofBudget(Schema):
    """For the whole proof. Without live calls it costs nothing, and says what it could not find out."""

    probes: Annotated[int, Field(ge=1, le=5_000)] = 200
    live_calls: CallCount | None = 0
    cost_usd: Dollars | None = None
    repeats: Annotated[int, Field(ge=0, le=50)] = 10  # of each side, when chance has to be ruled out


class ProofRequest(Schema):
    """`policy` is for probes that have to run live; its budget holds for each of them."""

    question: QuestionKind = "answer"
    checks: Annotated[list[Check], Field(max_length=20)] = []  # for the questions `check` and `score`
    budget: ProofBudget = Field(default_factory=ProofBudget)
    policy: Policy = Field(default_factory=Policy)
    parts: bool = True  # look inside the cause: which sentence, which document, which field
    mediators: bool = True  # find the steps through which it worked


class ProofRefusal(Schema):
    code: str
    detail: str
    where: str


class AtomPlan(Schema):
    """A change as the proof would test it."""

    id: str
    category: str
    title: str
    testable: bool
    why_not: str
    certificate: str  # why it needs no test; empty: it does
    live_calls: int | None  # of the two probes of this change together; null: not known before they run


class ProofPlan(Schema):
    """What a proof would do and cost. The numbers are for the whole ladder, an upper bound but for the search."""

    question: QuestionKind
    differs: bool
    base_outcome: str
    candidate_outcome: str
    atoms: list[AtomPlan]
    sampled: bool  # chance has to be ruled out first
    probes: int
    repeats: int
    live_calls: int  # that the whole would make, if the budget let it
    cost_usd: float | None  # null: the price of a model is not known
    missing: list[str]  # what nothing can answer: tools that nobody reviewed, steps that only code can compute
    refusals: list[ProofRefusal]
    warnings: list[str]


class ProofProgress(Schema):
    """How far it is; `probes` are those made, of `expected` at most."""

    stage: Stage = ""
    doing: str = ""
    probes: int = 0
    expected: int = 0
    repeats: int = 0
    live_calls: int = 0
    cost_usd: float | None = 0.0


class ProofView(Schema):
    """`findings` grow while it runs; `evidence` is their final form, attached to the diff."""

    id: UUID
    diff: UUID
    status: ProofStatus
    request: ProofRequest
    progress: ProofProgress
    findings: Findings | None
    evidence: UUID | None
    error: str
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None


class ProofList(Schema):
    proofs: list[ProofView]
