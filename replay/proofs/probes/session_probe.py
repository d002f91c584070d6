"""A probe as a real replay session: coupled by the recordings, and stopped where it would begin to guess."""

from collections.abc import Collection, Mapping
from uuid import UUID

from replay.core.calls import CachedAnswer, Call
from replay.core.errors import ReplayFailure
from replay.core.events import Event
from replay.core.graph import Graph
from replay.execution.calls.attempts import AttemptJournal
from replay.execution.derived_run.checkpoints import Checkpoints
from replay.execution.execution import Execution, ordinary_execution
from replay.execution.live_environment import LiveEnvironment
from replay.execution.observers import SessionObserver
from replay.models import ProofProbe, ReplaySession
from replay.overrides.profile import OverrideProfile
from replay.proofs.core.types import Side
from replay.proofs.counterfactual.copied_values import loaded_links, with_links
from replay.proofs.counterfactual.coupling import Coupling
from replay.proofs.counterfactual.walk_monitor import Lost, Missed, Watch
from replay.proofs.probes.probe_runner import MISSED
from replay.proofs.probes.recorded_answers import Recordings, Signatures
from replay.proofs.probes.recorded_environment import hit
from replay.proofs.probes.setup import Setup, coupled
from replay.proofs.probes.stored_probes import COPIED
from replay.store.payload_reader import Payloads
from traces.models import Step
from traces.payloads.parts import MissingPart


class ProofObserver(SessionObserver):
    """Leaves out the diffs of probes: a proof has already examined them."""

    def wants_diff(self, session_id: UUID) -> bool:
        return not ProofProbe.objects.filter(session_id=session_id).exists()


def make_execution(session: ReplaySession, payloads: Payloads) -> Execution:
    """How a session is executed: as a probe, where it is one."""
    probe = ProofProbe.objects.filter(session=session).select_related("proof", "proof__diff").order_by("id").first()
    return ordinary_execution(session, payloads) if probe is None else ProbeExecution(probe, session, payloads)


class ProbeExecution(Execution):
    """Takes recorded answers from the two runs and earlier probes, and none from elsewhere."""

    def __init__(self, probe: ProofProbe, session: ReplaySession, payloads: Payloads) -> None:
        profile = OverrideProfile.model_validate(session.profile.profile)
        side: Side = "base" if probe.ask["side"] == "base" else "candidate"
        setup = Setup(run=session.source_run, fork=session.fork_sequence_no, overrides=profile, side=side)
        alike = Signatures(session.source_run.app, session.plan.get("ignore_list", 0))
        self._coupling = coupled(probe.proof, setup, Recordings(alike=alike))
        self._payloads = payloads
        self._fresh = probe.repeat > 0
        self._copied = loaded_links(probe.ask.get(COPIED, {}))
        self._watch: Watch | None = None

    def extend_graph(self, graph: Graph) -> Graph:
        completed = with_links(graph, self._copied)
        self._watch = Watch(graph=completed, coupling=self._coupling, fresh=self._fresh)
        return completed

    def environment(
        self, checkpoints: Checkpoints, journal: AttemptJournal, payloads: Payloads, committed: Mapping[int, Step]
    ) -> LiveEnvironment:
        return _ProbeEnvironment(checkpoints, journal, payloads, committed, self._coupling)

    def inspect(self, event: Event) -> None:
        if self._watch is None:
            raise RuntimeError("the graph of a probe is completed before anything happens on it")
        try:
            self._watch.see(event, self._payloads)
        except (Missed, Lost, MissingPart) as missed:
            raise ReplayFailure(MISSED, str(missed)) from missed


class _ProbeEnvironment(LiveEnvironment):
    def __init__(
        self,
        checkpoints: Checkpoints,
        journal: AttemptJournal,
        payloads: Payloads,
        committed: Mapping[int, Step],
        coupling: Coupling,
    ) -> None:
        super().__init__(checkpoints, journal, payloads, committed)
        self._coupling = coupling

    def cached(self, signature: str, *, exclude: Collection[UUID]) -> CachedAnswer | None:
        return hit(self._coupling, signature, self.payload)

    def similar(self, call: Call, threshold: float) -> CachedAnswer | None:
        return None
