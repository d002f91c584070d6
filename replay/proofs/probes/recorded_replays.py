"""Replays of the two runs in memory, answered by recordings alone. An answer that is not recorded is never guessed."""

from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID

from diffing.schemas.evidence import EvidenceQuestion, ProbeOutcome
from diffing.sentences.atoms.obstacles import Gap, gap, step_name
from replay.checks.pass_rules import PassRule
from replay.core.calls import Call
from replay.core.graph import Graph
from replay.engine.replayer import Replayer
from replay.live.matching_process import first_error_isolated
from replay.models import Proof, ProofProbe
from replay.overrides.policy import Policy
from replay.overrides.profile import OverrideProfile
from replay.proofs.core.types import ProbeResult, ProbeSpec, Side, opposite
from replay.proofs.counterfactual import outcomes
from replay.proofs.counterfactual.copied_values import with_links
from replay.proofs.counterfactual.derivations import OtherState
from replay.proofs.counterfactual.outcomes import Result, UnknownOutcome
from replay.proofs.counterfactual.replay_monitor import MissingAnswer, ReplayMonitor, UnfaithfulReplay
from replay.proofs.probes import recorded_answers
from replay.proofs.probes.mediator_candidates import clamp_of
from replay.proofs.probes.recorded_answers import Recordings, Signatures
from replay.proofs.probes.recorded_environment import RecordedEnvironment, UnrecordedCall
from replay.proofs.probes.setup import Setup, clamp, counterpart_of, coupling_of
from replay.proofs.subject.subject import Subject
from replay.store.fork import build_fork
from replay.store.graph_loader import load_graph
from replay.store.payload_reader import Payloads
from replay.store.run_outcome import validator_verdicts
from traces.core.vocabulary import RunStatus
from traces.ingest.outcome_rules import Verdict
from traces.models import Run
from traces.payloads.parts import MissingPart

_POLICY: Final = Policy(allow=["model", "retrieval"], semantic_threshold=1.0, max_turns=1_000)


@dataclass
class RecordedReplays:
    """In-memory replays for one proof, and the recorded outcomes that they are compared with."""

    proof: Proof
    subject: Subject
    question: EvidenceQuestion
    rule: PassRule | None = None
    payloads: Payloads = field(default_factory=Payloads)
    # Compare runs from their first step on, and by their own status: of a running agent both are known.
    whole_runs: bool = False

    def __post_init__(self) -> None:
        self._graphs: dict[tuple[UUID, int], Graph] = {}
        # Probes that continue as the other run did.
        self._switched_specs: set[ProbeSpec] = set()
        # Signatures of the latest replay's calls of tools and retrievers.
        self._external_calls: list[str] = []
        # As in replays: what the app accepts to ignore does not make a call a different one.
        self._ignoring = self.subject.examination.comparison.base.ignoring
        self._load = Recordings(signatures=Signatures(self.subject.base.app, self._ignoring.version))
        self._arguments = outcomes.wants_arguments(self.question)
        sides: tuple[Side, Side] = ("base", "candidate")
        self.recordings = {side: self._recording(side) for side in sides}
        self.question = outcomes.separating(self.question, self.recordings["base"], self.recordings["candidate"])
        self.values = {
            side: outcomes.value(self.question, result, first_error_isolated)
            for side, result in self.recordings.items()
        }

    def setup(self, spec: ProbeSpec) -> Setup:
        """The run, the fork and the overrides of a probe."""
        if spec.clamp is not None:
            override = clamp(clamp_of(self.subject, spec.clamp), self.payloads)
            return Setup(
                run=self.subject.candidate,
                fork=spec.clamp,
                overrides=OverrideProfile(overrides=[override]),
                side="candidate",
                copies=self.subject.copies.links["candidate"],
                roots=self.subject.examination.reasoning.atoms,
            )
        side = opposite(spec.side) if spec in self._switched_specs else spec.side
        place = self.subject.places[side]
        return Setup(
            run=place.run,
            fork=place.fork,
            overrides=self.subject.changes.profile(spec.atoms, side),
            side=side,
            copies=self.subject.copies.links[side],
            roots=self.subject.examination.reasoning.atoms,
        )

    def restore_side(self, spec: ProbeSpec, row: ProofProbe) -> None:
        """Replay the same run as a stored probe of this spec."""
        if spec.clamp is None and row.configuration != self.setup(spec).configuration:
            self._switched_specs.add(spec)

    def graph(self, setup: Setup) -> Graph:
        key = (setup.run.id, setup.fork)
        if key not in self._graphs:
            counterpart = counterpart_of(self.proof.diff, setup.run.id)
            self._graphs[key] = with_links(load_graph(*key, counterpart=counterpart), setup.copies)
        return self._graphs[key]

    def replay(self, spec: ProbeSpec) -> ProbeResult | Call:
        """Replay a probe; return the first call that is not recorded, if there is one.

        If it reaches the state of the other run, it is replayed from that run: there, the agent's code did what it
        would do here.
        """
        try:
            return self._replay(self.setup(spec))
        except OtherState as state:
            return self.switch_run(spec, state)

    def switch_run(self, spec: ProbeSpec, state: OtherState) -> ProbeResult | Call:
        """Continue a probe as the other run did."""
        if spec.clamp is not None or spec in self._switched_specs:
            return ProbeResult(outcome=ProbeOutcome.NEEDS_LIVE, missing=gap(Gap.CODE_DIVERGES), strays=state.strays)
        own = coupling_of(self.proof, self.setup(spec), self._load)
        self._switched_specs.add(spec)
        result = self.replay(spec)
        if not isinstance(result, ProbeResult):
            return result
        borrowed_answers = result.borrowed_answers + own.count_unrecorded(self._external_calls)
        return replace(
            result,
            derived=result.derived or not state.is_traced,
            borrowed_answers=borrowed_answers,
            replay_side=opposite(spec.side),
        )

    def run_result(self, run: UUID, fork: int) -> Result:
        """The recorded result of a run from the fork on."""
        self._load(run)
        reduce = self._load.signatures
        fork = 1 if self.whole_runs else fork
        result = recorded_answers.result(run, fork, self.payloads, arguments=self._arguments, reduce=reduce)
        if self.whole_runs:
            result = replace(result, failed=Run.objects.filter(id=run, status=RunStatus.FAILED).exists())
        return result if self.rule is None else replace(result, validators=tuple(validator_verdicts(run)))

    def probe_result(
        self,
        result: Result,
        *,
        executed_steps: int,
        cached_calls: int,
        borrowed_answers: int = 0,
        live_calls: int = 0,
        cost_usd: float | None = 0.0,
        run: UUID | None = None,
    ) -> ProbeResult:
        """Classify the result of a run under the question."""
        try:
            result = self._judge(result)
            value = outcomes.value(self.question, result, first_error_isolated)
        except UnknownOutcome as unknown:
            return ProbeResult(
                outcome=ProbeOutcome.NEEDS_LIVE, missing=str(unknown), live_calls=live_calls, cost_usd=cost_usd, run=run
            )
        kind = self.question.kind
        return ProbeResult(
            outcome=outcomes.classify_as(kind, value, base=self.values["base"], candidate=self.values["candidate"]),
            value=value,
            values=outcomes.values(kind, result),
            summary=outcomes.describe(self.question, result, first_error_isolated),
            executed_steps=executed_steps,
            cached_calls=cached_calls,
            borrowed_answers=borrowed_answers,
            live_calls=live_calls,
            cost_usd=cost_usd,
            run=run,
        )

    def _recording(self, side: Side) -> Result:
        return self._judge(self.run_result(*self.subject.recording_of(side)))

    def _judge(self, result: Result) -> Result:
        return outcomes.judge(self.question, result, self.rule, first_error_isolated)

    def _validators_before(self, setup: Setup) -> list[Verdict]:
        """The validators before the fork, which no change reaches."""
        return [] if self.rule is None else validator_verdicts(setup.run.id, before=setup.fork)

    def _replay(self, setup: Setup) -> ProbeResult | Call:
        graph = self.graph(setup)
        coupling = coupling_of(self.proof, setup, self._load)
        state = self.subject.derivations.state(setup.side)
        monitor = ReplayMonitor(
            graph=graph,
            coupling=coupling,
            arguments=self._arguments,
            state=state,
            validators=self._validators_before(setup),
        )
        environment = RecordedEnvironment(coupling=coupling, payloads=self.payloads)
        fork = build_fork(graph, setup.overrides, _POLICY, self.payloads)
        if fork.profile.refusals:
            return ProbeResult(outcome=ProbeOutcome.FAILED, missing=fork.profile.refusals[0].detail)
        try:
            for event in Replayer(fork.context(environment, self._ignoring)).run():
                monitor.observe(event, self.payloads)
            result = self.probe_result(
                monitor.result(self.payloads),
                executed_steps=monitor.executed_steps,
                cached_calls=monitor.cached_answers,
                borrowed_answers=monitor.borrowed_answers,
            )
            self._external_calls = monitor.external_calls
            assumed_steps = state.open_assumptions(monitor.assumed_steps)
            models = recorded_answers.other_models_of(environment.answered_by)
            return replace(
                result,
                assumed_steps=assumed_steps,
                derived=state.assumes_code,
                other_models=models,
            )
        except UnrecordedCall as unrecorded:
            return _decided_call(monitor, unrecorded.call)
        except MissingAnswer as missing:
            if missing.call is not None:
                return missing.call
            return ProbeResult(
                outcome=ProbeOutcome.NEEDS_LIVE, missing=str(missing), strays=state.strays(self.payloads)
            )
        except OtherState as reached:
            raise OtherState(is_traced=reached.is_traced, strays=state.strays(self.payloads)) from reached
        except (UnfaithfulReplay, MissingPart) as error:
            return ProbeResult(outcome=ProbeOutcome.FAILED, missing=str(error))


def _decided_call(monitor: ReplayMonitor, call: Call) -> ProbeResult | Call:
    """The unrecorded call, unless an undecided check makes it uncertain that the call is made at all."""
    try:
        monitor.refuse_undecided(call.type, step_name(call.no, call.type, call.callee))
    except MissingAnswer as missing:
        return ProbeResult(outcome=ProbeOutcome.NEEDS_LIVE, missing=str(missing))
    return call
