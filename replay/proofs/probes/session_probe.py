"""A probe as a replay session: answered by recordings first, and stopped before it would guess."""

from collections.abc import Collection, Mapping
from functools import partial
from uuid import UUID

from replay.core.calls import CachedAnswer, Call
from replay.core.errors import ReplayFailure
from replay.core.events import Event
from replay.core.graph import Graph
from replay.core.vocabulary import FINAL_STATUSES, Engine
from replay.execution.calls.attempts import AttemptJournal
from replay.execution.derived_run.checkpoints import Checkpoints
from replay.execution.execution import Execution, ordinary_execution
from replay.execution.live_environment import LiveEnvironment
from replay.execution.observers import SessionObserver, SharedRecordings
from replay.models import Proof, ProofProbe, ReplaySession
from replay.overrides.profile import OverrideProfile
from replay.proofs.core.types import Side
from replay.proofs.counterfactual.copied_values import load_links, with_links
from replay.proofs.counterfactual.coupling import Coupling
from replay.proofs.counterfactual.replay_monitor import MissingAnswer, ReplayMonitor, UnfaithfulReplay
from replay.proofs.probes.probe_sessions import PROBE_MISSED
from replay.proofs.probes.recorded_answers import Recordings, Signatures
from replay.proofs.probes.recorded_environment import recorded_answer
from replay.proofs.probes.setup import Setup, counterpart_of, coupling_of, recordings_in_order
from replay.proofs.probes.stored_probes import COPIES
from replay.store.payload_reader import Payloads
from traces.models import Step
from traces.payloads.parts import MissingPart


class ProofObserver(SessionObserver):
    """Suppresses the diffs of probes: the proof has already examined them."""

    def wants_diff(self, session_id: UUID) -> bool:
        return not ProofProbe.objects.filter(session_id=session_id).exists()

    def shared_recordings(self, session_id: UUID) -> SharedRecordings | None:
        """The two runs, and what earlier and running probes of this difference were answered live."""
        probes = ProofProbe.objects.filter(session_id=session_id).order_by("id")
        probe = probes.select_related("proof__diff__base", "proof__diff__candidate", "session").first()
        if probe is None or probe.session is None:
            return None
        # One probe after the other looks for an answer, so that no two make the same call live.
        Proof.objects.select_for_update().get(id=probe.proof_id)
        other_probes = ProofProbe.objects.filter(
            proof__diff=probe.proof.diff_id, repeat=0, session__engine=Engine.AGENT
        )
        sessions = other_probes.exclude(session=session_id).values_list("session_id", flat=True)
        side: Side = "base" if probe.ask["side"] == "base" else "candidate"
        source = probe.session.source_run_id
        load_runs = partial(recordings_in_order, probe.proof, side, source, FINAL_STATUSES)
        return SharedRecordings(sessions=[id for id in sessions if id is not None], load_runs=load_runs)


def make_execution(session: ReplaySession, payloads: Payloads) -> Execution:
    """The execution of a session: as a probe if it is one."""
    probe = ProofProbe.objects.filter(session=session).select_related("proof", "proof__diff").order_by("id").first()
    return ordinary_execution(session, payloads) if probe is None else ProbeExecution(probe, session, payloads)


class ProbeExecution(Execution):
    """Takes recorded answers from the two runs and earlier probes only."""

    def __init__(self, probe: ProofProbe, session: ReplaySession, payloads: Payloads) -> None:
        profile = OverrideProfile.model_validate(session.profile.profile)
        side: Side = "base" if probe.ask["side"] == "base" else "candidate"
        setup = Setup(run=session.source_run, fork=session.fork_sequence_no, overrides=profile, side=side)
        signatures = Signatures(session.source_run.app, session.plan.get("ignore_list", 0))
        self._coupling = coupling_of(probe.proof, setup, Recordings(signatures=signatures))
        self.counterpart = counterpart_of(probe.proof.diff, session.source_run_id)
        self._payloads = payloads
        self._fresh = probe.repeat > 0
        self._copies = load_links(probe.ask.get(COPIES, {}))
        self._monitor: ReplayMonitor | None = None

    def extend_graph(self, graph: Graph) -> Graph:
        linked_graph = with_links(graph, self._copies)
        self._monitor = ReplayMonitor(graph=linked_graph, coupling=self._coupling, fresh=self._fresh)
        return linked_graph

    def environment(
        self, checkpoints: Checkpoints, journal: AttemptJournal, payloads: Payloads, committed_steps: Mapping[int, Step]
    ) -> LiveEnvironment:
        return _ProbeEnvironment(checkpoints, journal, payloads, committed_steps, self._coupling)

    def inspect(self, event: Event) -> None:
        if self._monitor is None:
            raise RuntimeError("a probe's graph must be completed before its first event")
        try:
            self._monitor.observe(event, self._payloads)
        except (MissingAnswer, UnfaithfulReplay, MissingPart) as error:
            raise ReplayFailure(PROBE_MISSED, str(error)) from error


class _ProbeEnvironment(LiveEnvironment):
    def __init__(
        self,
        checkpoints: Checkpoints,
        journal: AttemptJournal,
        payloads: Payloads,
        committed_steps: Mapping[int, Step],
        coupling: Coupling,
    ) -> None:
        super().__init__(checkpoints, journal, payloads, committed_steps)
        self._coupling = coupling

    def cached(self, signature: str, *, exclude: Collection[UUID]) -> CachedAnswer | None:
        return recorded_answer(self._coupling, signature, self.payload)

    def similar(self, call: Call, threshold: float) -> CachedAnswer | None:
        return None
