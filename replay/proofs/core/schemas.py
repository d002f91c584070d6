"""REST schemas of proofs."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from diffing.schemas.evidence import Findings, QuestionKind
from replay.checks.schemas import Check, JudgementChoice
from replay.core.plan import UninterceptedTool
from replay.core.vocabulary import Engine, ProofStatus
from replay.overrides.policy import CallCount, Dollars, Policy
from traces.core.schema import Schema

Stage = Literal["controls", "noise", "search", "shares", "parts", "mediators", ""]


class ProofBudget(Schema):
    """The budget of a whole proof. Without live calls a proof costs nothing, and states what it could not find out."""

    probes: Annotated[int, Field(ge=1, le=5_000)] = 200
    live_calls: CallCount | None = 0
    cost_usd: Dollars | None = None
    # Of each side, if chance has to be ruled out.
    repeats: Annotated[int, Field(ge=0, le=50)] = 10


class ProofRequest(JudgementChoice):
    """`policy` applies to probes that have to run live; its budget limits each of them.

    The question `judgement` needs the name of one. For `outcome` and `judgement`, a replay is judged by its validators
    and by `checks`; each check has the name of the judgement for which it stands in.

    `engine`: follow the recordings, or let runners of the app start the agent again for every probe.
    """

    question: QuestionKind = "answer"
    engine: Engine = Engine.FOLLOW
    checks: Annotated[list[Check], Field(max_length=20)] = []
    budget: ProofBudget = Field(default_factory=ProofBudget)
    policy: Policy = Field(default_factory=Policy)
    # Find the part of the cause that matters: a sentence, a document, a field.
    parts: bool = True
    # Find the steps through which the cause worked.
    mediators: bool = True


class ProofRefusal(Schema):
    code: str
    detail: str
    where: str


class AtomPlan(Schema):
    """A change and how the proof would test it."""

    id: str
    category: str
    title: str
    testable: bool
    why_not: str
    # Why it needs no test; empty if it needs one.
    certificate: str
    # Of both probes of this change; null: unknown before they run.
    live_calls: int | None


class ProofPlan(Schema):
    """The work and cost of a proof: upper bounds for the whole ladder, except that the search may take more probes."""

    question: QuestionKind
    differs: bool
    base_outcome: str
    candidate_outcome: str
    atoms: list[AtomPlan]
    # Chance has to be ruled out first.
    sampled: bool
    probes: int
    repeats: int
    # How often runners start the agent; 0 if the recordings are followed.
    agent_starts: int
    # Without regard to the budget.
    live_calls: int
    # null: the price of a model is unknown.
    cost_usd: float | None
    # What nothing can answer: tools without a review, steps that only the agent's code can compute.
    missing: list[str]
    # What the agent really runs in each start.
    unintercepted_tools: list[UninterceptedTool] = []
    refusals: list[ProofRefusal]
    warnings: list[str]


class ProofProgress(Schema):
    """Progress of a proof: `probes` of at most `expected` have run."""

    stage: Stage = ""
    doing: str = ""
    probes: int = 0
    expected: int = 0
    repeats: int = 0
    live_calls: int = 0
    cost_usd: float | None = 0.0


class ProofView(Schema):
    """A proof. `findings` grow while it runs; `evidence` is their final form, attached to the diff.

    `waits_for`: which runner has to be started before it can go on, and how; empty if none.
    """

    id: UUID
    diff: UUID
    status: ProofStatus
    request: ProofRequest
    progress: ProofProgress
    findings: Findings | None
    evidence: UUID | None
    error: str
    waits_for: str
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None


class ProofList(Schema):
    proofs: list[ProofView]
