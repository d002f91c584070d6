"""Runs the probes of a proof: in memory while recordings have every answer, as a replay session where they do not."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from diffing.schemas.evidence import EvidenceQuestion, ProbeOutcome
from replay.checks.pass_rules import PassRule
from replay.core.vocabulary import Engine
from replay.models import Proof, ProofProbe
from replay.overrides.policy import Policy
from replay.proofs.core.types import Allowance, Atom, Atoms, PathStep, ProbeResult, ProbeSpec, Spending
from replay.proofs.probes.agent_sessions import AgentSessions
from replay.proofs.probes.live_reach import LiveReach
from replay.proofs.probes.mediator_candidates import path_steps
from replay.proofs.probes.probe_rows import ProbeRows
from replay.proofs.probes.probe_sessions import PendingSessions, ProbeSessions
from replay.proofs.probes.recorded_replays import RecordedReplays
from replay.proofs.probes.stored_probes import UNPAID, load_result
from replay.proofs.subject.subject import Subject
from replay.store.payload_reader import Payloads


@dataclass
class ProbeRunner:
    """The prober of one proof. Results are stored, and stored results are reused.

    With `stored_only`, a probe without a stored result raises `PendingSessions`.
    """

    proof: Proof
    subject: Subject
    question: EvidenceQuestion
    policy: Policy
    rule: PassRule | None = None
    stored_only: bool = False
    engine: Engine = Engine.FOLLOW
    has_budget: bool = False
    payloads: Payloads = field(default_factory=Payloads)

    def __post_init__(self) -> None:
        self.rows = ProbeRows(self.proof)
        self.agent: AgentSessions | None = None
        self._sessions: ProbeSessions
        runs_agent = self.engine is Engine.AGENT
        self.replays = RecordedReplays(
            self.proof, self.subject, self.question, self.rule, self.payloads, whole_runs=runs_agent
        )
        self.recordings, self.values = self.replays.recordings, self.replays.values
        self.question = self.replays.question
        self._reach = LiveReach(self.subject, self.policy)
        parts = self.proof, self.policy, self.rows, self.replays, self._reach
        if runs_agent:
            self._sessions = self.agent = AgentSessions(*parts, has_budget=self.has_budget)
        else:
            self._sessions = ProbeSessions(*parts)
            self._sessions.recall_wording()

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        row = self.rows.find(spec)
        if row is not None and row.seen is not None and (self.stored_only or not self._may_retry(row, allowance)):
            return load_result(row.seen)
        if self.stored_only:
            raise PendingSessions
        if self.agent is not None:
            return self.agent.probe(spec, allowance)
        if row is not None and row.session is not None and row.seen is None:
            self.replays.restore_side(spec, row)
            return self._sessions.finish(row, spec)
        if spec.repeat:
            return self._sessions.repeat(spec, self.replays.setup(spec), allowance)
        result = self.replays.replay(spec)
        setup = self.replays.setup(spec)
        if isinstance(result, ProbeResult):
            return self.rows.save(spec, setup, result)
        if not self._reach.is_answerable(result, allowance):
            unpaid = self._reach.is_answerable(result, Allowance(live_calls=None))
            missing = self._reach.problem(result, unpaid=unpaid)
            return self.rows.save(
                spec, setup, ProbeResult(outcome=ProbeOutcome.NEEDS_LIVE, missing=missing), unpaid=unpaid
            )
        return self._sessions.start(spec, setup, allowance)

    def dry_run(self, spec: ProbeSpec) -> ProbeResult:
        """Run a probe as far as the recordings answer it, without storing anything or making live calls.

        `missing` is empty if a live call could answer the rest.
        """
        result = self.replays.replay(spec)
        if isinstance(result, ProbeResult):
            return result
        is_answerable = self._reach.is_answerable(result, Allowance(live_calls=None))
        missing = "" if is_answerable else self._reach.problem(result, unpaid=False)
        return ProbeResult(outcome=ProbeOutcome.NEEDS_LIVE, missing=missing)

    def parts(self, atom: Atom) -> Sequence[Atom]:
        return self.subject.changes.parts(atom)

    def path_steps(self, cause: Atoms) -> Sequence[PathStep]:
        return path_steps(self.subject, cause)

    def expect(self, specs: Sequence[ProbeSpec]) -> None:
        # The recordings may answer a probe that runs no agent: that is tried first.
        self._sessions.expected = [spec for spec in specs if spec.repeat or self.agent is not None]

    def ahead(self) -> Spending:
        return self._sessions.spending_ahead()

    def cancel_ahead(self) -> bool:
        """Cancel sessions that were started ahead and are not needed; True if one of them is still active."""
        return self._sessions.cancel_ahead()

    def _may_retry(self, row: ProofProbe, allowance: Allowance) -> bool:
        """True if only the budget kept a probe from its answer, and there is budget now."""
        may_pay = allowance.live_calls != 0 and allowance.cost_usd != 0
        return bool((row.seen or {}).get(UNPAID)) and may_pay and (row.session is None or self.agent is not None)
