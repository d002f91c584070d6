"""Probes in which the agent itself runs: sessions that the runners of the app start."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID

from diffing.schemas.evidence import ProbeOutcome
from diffing.sentences.atoms.obstacles import Gap, Obstacle, gap, obstacle
from replay.core.applied_profile import apply_profile
from replay.core.vocabulary import COMPLETED, FINAL_STATUSES, Engine
from replay.models import ProofProbe, ReplaySession, Rerun
from replay.overrides.policy import Policy
from replay.overrides.profile import OverrideProfile
from replay.proofs.changes import agent_overrides
from replay.proofs.changes.agent_overrides import Unfit
from replay.proofs.core.types import Allowance, Atom, ProbeResult, ProbeSpec, Side
from replay.proofs.ladder.facts import NO_ATOMS
from replay.proofs.probes import agent_calls, recorded_answers
from replay.proofs.probes.probe_sessions import PendingSessions, ProbeSessions
from replay.proofs.probes.recorded_answers import Recordings, Signatures
from replay.proofs.probes.setup import Setup, coupling_of
from replay.proofs.probes.stored_probes import UNPAID, load_result
from replay.runners import agent_plans
from traces.core.json_access import as_list, as_object
from traces.core.json_types import JSONObject
from traces.core.vocabulary import Label, Reason, StepType
from traces.models import Step

_SIDES: Final[tuple[Side, Side]] = ("base", "candidate")


@dataclass(frozen=True, kw_only=True)
class AgentStart:
    """What starts of the unchanged agent show: `home` and `obstacle` are those of the case."""

    controls: Mapping[ProbeSpec, ProbeResult] = field(default_factory=dict)
    home: Side | None = None
    obstacle: str = ""


@dataclass
class AgentSessions(ProbeSessions):
    """The sessions of one proof's probes, each of which starts the agent.

    `homes`: for each side, the one whose recording is replayed for it. An agent that reproduces only one of two
    recordings replays both sides from there.
    """

    homes: Mapping[Side, Side] = field(default_factory=lambda: {side: side for side in _SIDES})
    # Whether the proof may make live calls at all.
    has_budget: bool = False

    def setup(self, spec: ProbeSpec) -> Setup:
        """The run, the fork and the overrides of a probe; raises `Unfit`."""
        home = self.homes[spec.side]
        place = self.replays.subject.places[home]
        if spec.control:
            overrides = OverrideProfile(overrides=[])
        elif spec.clamp is not None:
            return replace(self.replays.setup(spec), engine=Engine.AGENT)
        else:
            overrides = self._overrides(spec.atoms, home)
        return Setup(run=place.run, fork=place.fork, overrides=overrides, side=spec.side, engine=Engine.AGENT)

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        """Start a session for a probe that has none yet, or read its result."""
        row = self.rows.find(spec)
        if row is not None and row.session is not None and row.seen is None:
            return self.finish(row, spec)
        if spec.clamp is not None and not self._replays_recording("candidate"):
            result = ProbeResult(outcome=ProbeOutcome.NEEDS_LIVE, missing=gap(Gap.STEP_OF_OTHER_RUN))
            return self.rows.save(spec, self.replays.setup(spec), result)
        setup = self.setup(spec)
        return self.repeat(spec, setup, allowance) if spec.repeat else self.start(spec, setup, allowance)

    def start(self, spec: ProbeSpec, setup: Setup, allowance: Allowance) -> ProbeResult:
        """Start a session, unless its agent would only reach a call that it may not pay yet, but later."""
        if not _may_pay(allowance):
            if self._will_need_payment(spec):
                result = ProbeResult(outcome=ProbeOutcome.NEEDS_LIVE, missing=gap(Gap.AGENT_NOT_STARTED))
                return self.rows.save(spec, setup, result, unpaid=True)
            self.expected = [expected for expected in self.expected if not self._will_need_payment(expected)]
        return super().start(spec, setup, allowance)

    def _will_need_payment(self, spec: ProbeSpec) -> bool:
        """Return whether a probe that follows the recording lacks an answer, and the budget has live calls for it."""
        if spec.control or not self.has_budget or "model" not in self.policy.allow:
            return False
        return not isinstance(self.replays.replay(spec), ProbeResult)

    def begin(self, *, stored_only: bool) -> AgentStart:
        """Start the agent unchanged, and find out what its probes can show; raises `PendingSessions`."""
        controls = self._controls(stored_only=stored_only)
        sides = [spec.side for spec, result in controls.items() if result.is_settled]
        home = sides[0] if len(sides) == 1 < len(controls) else None
        if home is not None:
            self.homes = dict.fromkeys(_SIDES, home)
        problem = next((result.missing for result in controls.values() if not result.is_settled), "")
        return AgentStart(
            controls=controls,
            home=home,
            obstacle="" if sides else gap(Gap.AGENT_UNLIKE_RECORDINGS, detail=problem),
        )

    def restrict_changes(self) -> None:
        """Mark the changes that no request of a running agent can have, with the reason."""
        changes = self.replays.subject.changes.changes
        atoms = [self._atom(atom) for atom in self.replays.subject.atoms]
        changes.update({atom.id: replace(changes[atom.id], atom=atom) for atom in atoms})

    def _controls(self, *, stored_only: bool) -> dict[ProbeSpec, ProbeResult]:
        """The agent's replays of the recordings without any change, side by side."""
        sides = _SIDES[:1] if self.replays.subject.lattice else _SIDES
        specs = [ProbeSpec(atoms=NO_ATOMS, side=side, control=True) for side in sides]
        results: dict[ProbeSpec, ProbeResult] = {}
        pending_sessions: list[UUID] = []
        for number, spec in enumerate(specs, 1):
            row = self.rows.find(spec)
            if row is not None and row.seen is not None:
                results[spec] = load_result(row.seen)
                continue
            if stored_only:
                raise PendingSessions
            self.expected = specs[number:]
            try:
                results[spec] = self.probe(spec, Allowance())
            except PendingSessions as pending:
                pending_sessions += pending.sessions
        if pending_sessions:
            raise PendingSessions(*dict.fromkeys(pending_sessions))
        return results

    def _atom(self, atom: Atom) -> Atom:
        if not atom.testable:
            is_made = atom.is_relay or atom.why_not == obstacle(Obstacle.CODE_MAY_DERIVE)
            why_not = obstacle(Obstacle.AGENT_MAKES) if is_made else atom.why_not
            return replace(atom, is_relay=False, why_not=why_not)
        if not self.replays.subject.lattice and (atom.follows or atom.category == "structure"):
            return replace(atom, why_not=obstacle(Obstacle.AGENT_MAKES))
        if problem := self._obstacle(atom):
            return replace(atom, why_not=obstacle(Obstacle.NOT_WHILE_RUNNING, detail=problem))
        return atom

    def _obstacle(self, atom: Atom) -> str:
        """Why a change can be neither applied to the base nor reverted from the candidate while the agent runs."""
        rest = frozenset(other.id for other in self.replays.subject.atoms if other.testable) - {atom.id}
        for atoms, side in zip((frozenset({atom.id}), rest), _SIDES, strict=True):
            home = self.homes[side]
            try:
                profile = self._overrides(atoms, home)
            except Unfit as unfit:
                return str(unfit)
            place = self.replays.subject.places[home]
            setup = Setup(run=place.run, fork=place.fork, overrides=profile, side=home)
            graph = self.replays.graph(setup)
            refusal = next(agent_plans.refusals(apply_profile(profile, graph), graph.by_no), None)
            if refusal is not None:
                return refusal.detail
        return ""

    def _overrides(self, atoms: frozenset[str], home: Side) -> OverrideProfile:
        subject = self.replays.subject
        profile = subject.changes.profile(atoms, home)
        return agent_overrides.fit(profile, lambda step, index: self._message(home, step, index))

    def _message(self, home: Side, step: str, index: int) -> JSONObject | None:
        """A message of a recorded request."""
        place = self.replays.subject.places[home]
        if not step.isdecimal():
            return None
        refs = Step.objects.filter(run=place.run, sequence_no=int(step), type=StepType.MODEL)
        ref = refs.values_list("input_ref", flat=True).first()
        messages = as_list(as_object(self.replays.payloads(ref)).get("messages")) if ref else []
        return as_object(messages[index]) if index < len(messages) else None

    def _replays_recording(self, side: Side) -> bool:
        """Return whether the agent is replayed from the side's own recording."""
        return not self.replays.subject.lattice and self.homes[side] == side

    def _is_new(self, spec: ProbeSpec) -> bool:
        row = self.rows.find(spec)
        return row is None or (bool((row.seen or {}).get(UNPAID)) and not spec.repeat)

    def _problem(self, spec: ProbeSpec, setup: Setup) -> str:
        return ""

    def _session_policy(self, spec: ProbeSpec, allowance: Allowance) -> Policy:
        policy = super()._session_policy(spec, allowance)
        return policy if _may_pay(allowance) and not spec.control else policy.model_copy(update={"allow": []})

    def finish(self, row: ProofProbe, spec: ProbeSpec) -> ProbeResult:
        """Store and return the result of an ended session; raises `PendingSessions` while its agent runs or waits."""
        session = ReplaySession.objects.select_related("rerun", "profile").get(proof_probes=row)
        if session.status not in FINAL_STATUSES:
            raise PendingSessions(session.id)
        result = self._result(session, spec)
        is_live = "model" in session.policy["allow"]
        unpaid = result.outcome is ProbeOutcome.NEEDS_LIVE and not is_live and not spec.control
        return self.rows.store(row, result, unpaid=unpaid)

    def _result(self, session: ReplaySession, spec: ProbeSpec) -> ProbeResult:
        cost = None if session.cost_usd is None else float(session.cost_usd)
        spending: dict[str, Any] = {"live_calls": session.live_calls, "cost_usd": cost, "run": session.run_id}
        rerun = session.rerun
        if rerun is not None and (problem := agent_calls.early_divergence(rerun)):
            return ProbeResult(outcome=ProbeOutcome.FAILED, missing=problem, **spending)
        if rerun is not None and (refusal := agent_calls.refusal(rerun)) is not None:
            outcome = ProbeOutcome.NEEDS_LIVE if refusal.is_blocked else ProbeOutcome.FAILED
            missing = refusal.reason if refusal.is_blocked else gap(Gap.AGENT_FAILED, detail=refusal.reason)
            return ProbeResult(outcome=outcome, missing=missing, **spending)
        if session.status not in COMPLETED or session.run_id is None or rerun is None:
            missing = gap(Gap.AGENT_FAILED, detail=session.error or f"the replay was {session.status}")
            return ProbeResult(outcome=ProbeOutcome.FAILED, missing=missing, **spending)
        if problem := agent_calls.unapplied_change(session):
            return ProbeResult(outcome=ProbeOutcome.FAILED, missing=problem, **spending)
        result = self._outcome(session, spec, cost)
        return self._control_result(result, spec, rerun) if spec.control else result

    def _outcome(self, session: ReplaySession, spec: ProbeSpec, cost: float | None) -> ProbeResult:
        """Classify what the agent did. What failed in this probe alone is an outcome of its own."""
        # The caller has checked it.
        assert session.run_id is not None
        run, recordings = session.run_id, self.replays.recordings
        outcome = self.replays.run_result(run, 1)
        result = self.replays.probe_result(
            outcome,
            executed_steps=session.cached_count + session.simulated_count,
            cached_calls=session.cached_count,
            live_calls=session.live_calls,
            cost_usd=cost,
            borrowed_answers=self._borrowed_answers(session, spec),
            run=run,
        )
        models = recorded_answers.other_models_of([run, *recorded_answers.cached_from(run, 1)])
        has_side = result.outcome in (ProbeOutcome.BASE, ProbeOutcome.CANDIDATE)
        if has_side and outcome.failed and not recordings["base" if result.outcome == "base" else "candidate"].failed:
            result = replace(result, outcome=ProbeOutcome.OTHER, summary=gap(Gap.AGENT_ENDED), value="", values={})
        return replace(result, other_models=models)

    def _control_result(self, result: ProbeResult, spec: ProbeSpec, rerun: Rerun) -> ProbeResult:
        """The result of an agent that was started unchanged: it must do what is recorded, and come to the same."""
        problem = agent_calls.missing_call(rerun)
        if not problem and not self.replays.subject.lattice and result.outcome != spec.side:
            problem = gap(Gap.AGENT_OUTCOME, detail=result.summary or result.missing)
        return replace(result, outcome=ProbeOutcome.FAILED, missing=problem) if problem else result

    def _borrowed_answers(self, session: ReplaySession, spec: ProbeSpec) -> int:
        """The number of recorded results of tools and searches that the side's own recording does not have."""
        calls = Step.objects.filter(run=session.run_id, type__in=(StepType.TOOL, StepType.RETRIEVAL))
        recorded_calls = calls.filter(label__in=(Label.EXACT, Label.CACHED)).exclude(reason=Reason.AGENT_RAN)
        signatures = Signatures(self.replays.subject.base.app, session.plan.get("ignore_list", 0))
        coupling = coupling_of(self.proof, self.setup(spec), Recordings(signatures=signatures))
        return coupling.count_unrecorded([*recorded_calls.exclude(signature="").values_list("signature", flat=True)])


def _may_pay(allowance: Allowance) -> bool:
    return allowance.live_calls != 0 and allowance.cost_usd != 0
