"""Probes that need live answers, as replay sessions: started in batches, and read when they have ended."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError, transaction

from diffing.schemas.evidence import ProbeOutcome
from diffing.sentences.atoms.obstacles import Gap, gap
from replay.core.vocabulary import COMPLETED, FINAL_STATUSES
from replay.execution import event_log
from replay.models import Proof, ProofProbe, ReplaySession
from replay.overrides.policy import Budget as SessionBudget
from replay.overrides.policy import Policy
from replay.proofs.core.types import Allowance, ProbeResult, ProbeSpec, Spending
from replay.proofs.counterfactual.derivations import OtherState, State, UnknownState
from replay.proofs.probes import recorded_answers
from replay.proofs.probes.live_reach import LiveReach
from replay.proofs.probes.probe_rows import ProbeRows
from replay.proofs.probes.recorded_replays import RecordedReplays
from replay.proofs.probes.setup import Setup
from replay.proofs.probes.stored_probes import divide, earlier_sample, key_of, tighter_limit
from replay.proofs.subject.subject import live_price
from replay.sessions import create, prepare

# The error code of a session that reached an answer which nothing recorded and nothing may give.
PROBE_MISSED: Final = "probe_missed"
_BUDGET_ERROR_PREFIX: Final = "budget_"
_BATCH_LIMIT: Final = 8


class PendingSessions(Exception):
    """Probes wait for replay sessions that have not ended."""

    def __init__(self, *sessions: UUID) -> None:
        super().__init__(f"{len(sessions)} replay sessions have not ended")
        self.sessions = sessions


@dataclass
class ProbeSessions:
    """The replay sessions of one proof's probes. `expected`: probes that will follow the current one."""

    proof: Proof
    policy: Policy
    rows: ProbeRows
    replays: RecordedReplays
    reach: LiveReach
    expected: Sequence[ProbeSpec] = ()

    def setup(self, spec: ProbeSpec) -> Setup:
        """The run, the fork and the overrides of a probe's session."""
        return self.replays.setup(spec)

    def recall_wording(self) -> None:
        """Learn from the stored repeats how models word the same answer."""
        for row in self.rows.all():
            session = row.session
            if not row.repeat or row.seen is None or session is None or session.run_id is None:
                continue
            state = self.replays.subject.derivations.state("base" if row.ask["side"] == "base" else "candidate")
            outputs = recorded_answers.outputs(session.run_id, session.source_run_id, session.fork_sequence_no)
            for number, signature, answer in outputs:
                state.note(number, signature, answer)

    @cached_property
    def typical_calls(self) -> int:
        return live_price(self.replays.subject)[0]

    def spending_ahead(self) -> Spending:
        """The spending of sessions that were started ahead and not requested yet."""
        rows = ReplaySession.objects.filter(id__in=self._started_ahead()).values_list("live_calls", "cost_usd")
        known_costs = [float(cost) for _, cost in rows if cost is not None]
        return Spending(
            live_calls=sum(calls for calls, _ in rows),
            cost_usd=sum(known_costs) if len(known_costs) == len(rows) else None,
        )

    def cancel_ahead(self) -> bool:
        """Cancel sessions that were started ahead and are not needed; True if one of them is still active."""
        active_sessions = ReplaySession.objects.filter(id__in=self._started_ahead(), ended_at=None)
        return bool(active_sessions.update(cancel_requested=True))

    def _started_ahead(self) -> list[UUID]:
        return [row.session_id for row in self.rows.all() if row.session_id is not None and row.seen is None]

    def repeat(self, spec: ProbeSpec, setup: Setup, allowance: Allowance) -> ProbeResult:
        """Draw a new sample; one that an earlier proof drew counts as well."""
        sample = earlier_sample(self.proof, spec, setup)
        if sample is not None and sample.session is not None:
            try:
                row = self.rows.row(spec, setup, session=sample.session)
            except IntegrityError:
                raise PendingSessions(self._started_elsewhere(spec)) from None
            result = self.finish(row, spec)
            return self.rows.store(row, replace(result, live_calls=0, cost_usd=0.0))
        if allowance.live_calls == 0 or allowance.cost_usd == 0 or "model" not in self.policy.allow:
            result = ProbeResult(outcome=ProbeOutcome.NEEDS_LIVE, missing=gap(Gap.REPEATS_UNPAID))
            return self.rows.save(spec, setup, result, unpaid=True)
        return self.start(spec, setup, allowance)

    def start(self, spec: ProbeSpec, setup: Setup, allowance: Allowance) -> ProbeResult:
        """Start a session, together with those of the expected probes; the proof continues when they have ended.

        Raises `PendingSessions`, unless the probe itself cannot become a session.
        """
        batch = self._batch(spec, allowance)
        share = divide(allowance, len(batch))
        sessions: list[UUID] = []
        for member in batch:
            session = self._session(member, self.setup(member), share)
            if isinstance(session, UUID):
                sessions.append(session)
            elif member == spec:
                return session
        raise PendingSessions(*sessions)

    def _batch(self, spec: ProbeSpec, allowance: Allowance) -> list[ProbeSpec]:
        """The spec and expected ones that are new, as many as the allowance is certain to cover."""
        new_specs = [
            expected
            for expected in self.expected
            if self._is_new(expected) and not earlier_sample(self.proof, expected, self.setup(expected))
        ]
        limit = _BATCH_LIMIT
        if allowance.live_calls is not None:
            limit = min(limit, max(1, allowance.live_calls // max(1, 2 * self.typical_calls)))
        return [spec, *(expected_spec for expected_spec in new_specs if expected_spec != spec)][:limit]

    def _session(self, spec: ProbeSpec, setup: Setup, allowance: Allowance) -> UUID | ProbeResult:
        """Create the session of a probe; return a result if it cannot be created."""
        if problem := self._problem(spec, setup):
            return self.rows.save(spec, setup, ProbeResult(outcome=ProbeOutcome.NEEDS_LIVE, missing=problem))
        preparation = prepare.prepare(setup.request(self._session_policy(spec, allowance)), brief=True, verify=True)
        if preparation.plan.refusals:
            detail = preparation.plan.refusals[0].detail
            return self.rows.save(spec, setup, ProbeResult(outcome=ProbeOutcome.NEEDS_LIVE, missing=detail))
        try:
            with transaction.atomic():
                session = create.create(preparation, is_probe=True)
                self.rows.row(spec, setup, session=session)
                event_log.append(session.id, "session")
        except IntegrityError:
            return self._started_elsewhere(spec)
        return session.id

    def _is_new(self, spec: ProbeSpec) -> bool:
        """Return whether an expected probe may get a session."""
        return self.rows.find(spec) is None

    def _problem(self, spec: ProbeSpec, setup: Setup) -> str:
        """Why a session would not show what it is for; empty if it would."""
        if not spec.repeat:
            return ""
        return self.reach.repeat_problem(self.replays.graph(setup), setup.overrides, self.replays.payloads)

    def _session_policy(self, spec: ProbeSpec, allowance: Allowance) -> Policy:
        """The policy of a probe's session: that of the proof, within the allowance."""
        budget = self.policy.budget
        limits = {
            "max_live_calls": tighter_limit(budget.max_live_calls, allowance.live_calls),
            "max_cost_usd": tighter_limit(budget.max_cost_usd, allowance.cost_usd),
        }
        update: dict[str, Any] = {
            "budget": SessionBudget.model_validate({**budget.model_dump(), **limits}),
            "order": "reexecute" if spec.repeat else "reuse",
            "fallback": "simulate",
            "strict": False,
            "semantic_threshold": 1.0,
            # No operator is there to answer.
            "tools": self.policy.tools.model_copy(update={"ask": []}),
        }
        return self.policy.model_copy(update=update)

    def _started_elsewhere(self, spec: ProbeSpec) -> UUID:
        """The session that another worker gave this probe in the meantime."""
        return ProofProbe.objects.get(proof=self.proof, key=key_of(spec)).session_id or UUID(int=0)

    def finish(self, row: ProofProbe, spec: ProbeSpec) -> ProbeResult:
        """Store and return the result of an ended session; raises `PendingSessions` while it is active."""
        setup = self.replays.setup(spec)
        session = ReplaySession.objects.get(id=row.session_id or UUID(int=0))
        if session.status not in FINAL_STATUSES:
            raise PendingSessions(session.id)
        cost = None if session.cost_usd is None else float(session.cost_usd)
        spending: dict[str, Any] = {"live_calls": session.live_calls, "cost_usd": cost, "run": session.run_id}
        if session.status not in COMPLETED or session.run_id is None:
            code = session.error_code
            may_be_live = code == PROBE_MISSED or code.startswith(_BUDGET_ERROR_PREFIX)
            outcome = ProbeOutcome.NEEDS_LIVE if may_be_live else ProbeOutcome.FAILED
            missing = session.error or gap(Gap.REPLAY_ENDED, detail=session.status)
            return self.rows.store(row, ProbeResult(outcome=outcome, missing=missing, **spending))
        if no := recorded_answers.placeholder_step(session.run_id, setup.fork):
            missing = gap(Gap.PLACEHOLDER, number=no)
            return self.rows.store(row, ProbeResult(outcome=ProbeOutcome.NEEDS_LIVE, missing=missing, **spending))
        state = self.replays.subject.derivations.state(setup.side)
        try:
            _follow(state, session.run_id, setup)
        except OtherState as reached:
            return self.rows.store(row, replace(self._continue_recorded(spec, reached), **spending))
        except UnknownState as unknown:
            strays = state.strays(self.replays.payloads)
            result = ProbeResult(outcome=ProbeOutcome.NEEDS_LIVE, missing=str(unknown), strays=strays, **spending)
            return self.rows.store(row, result)
        result = self._session_result(session, session.run_id, setup.fork, cost)
        assumed_steps = state.open_assumptions(result.assumed_steps)
        derived = state.assumes_code or setup.side != row.ask["side"]
        return self.rows.store(
            row, replace(result, assumed_steps=assumed_steps, derived=derived, replay_side=setup.side)
        )

    def _session_result(self, session: ReplaySession, run: UUID, fork: int, cost: float | None) -> ProbeResult:
        result = self.replays.probe_result(
            self.replays.run_result(run, fork),
            executed_steps=session.cached_count + session.simulated_count,
            cached_calls=session.cached_count,
            live_calls=session.live_calls,
            cost_usd=cost,
            borrowed_answers=recorded_answers.borrowed_in(run, fork),
            run=run,
        )
        models = recorded_answers.other_models_of([run, *recorded_answers.cached_from(run, fork)])
        assumed_steps = recorded_answers.assumed_in(run, fork)
        return replace(result, assumed_steps=assumed_steps, other_models=models)

    def _continue_recorded(self, spec: ProbeSpec, state: OtherState) -> ProbeResult:
        """The rest of a session that reached the other run's state, as far as that run or a session recorded it."""
        result = None if spec.repeat else self.replays.switch_run(spec, state)
        if isinstance(result, ProbeResult):
            return result
        return ProbeResult(outcome=ProbeOutcome.NEEDS_LIVE, missing=gap(Gap.CODE_DIVERGES))


def _follow(state: State, run_id: UUID, setup: Setup) -> None:
    """Record a session's outputs; raises if the agent's code would have continued differently than the session."""
    for number, signature, answer in recorded_answers.outputs(run_id, setup.run.id, setup.fork):
        if number is not None:
            state.arrive(number)
        state.note(number, signature, answer)
    state.end()
