"""A probe as a real replay session: coupled by the recordings, and stopped where it would begin to guess."""

from collections.abc import Collection
from uuid import UUID

from replay.execution import Execution
from replay.graph import Graph
from replay.loading import Payloads
from replay.models import ProofProbe, ReplaySession
from replay.overrides import OverrideProfile
from replay.policy import Policy
from replay.problems import Stopped
from replay.proving.copies import loaded_links, with_links
from replay.proving.lab import Side
from replay.proving.probing import MISSED
from replay.proving.recordings import Recordings, Signatures
from replay.proving.setups import Setup, coupled
from replay.proving.stored import COPIED
from replay.proving.watching import Lost, Missed, Watch
from replay.proving.worlds import hit
from replay.replayer import Replayer
from replay.world import Call, Event, Hit
from traces.parts import MissingPart


def execution_of(session: ReplaySession, owner: str, policy: Policy, payloads: Payloads) -> Execution:
    """How a session is executed: as a probe, where it is one."""
    probe = ProofProbe.objects.filter(session=session).select_related("proof", "proof__diff").order_by("id").first()
    if probe is None:
        return Execution(session, owner, policy, payloads)
    return ProbeExecution(probe, session, owner, policy, payloads)


class ProbeExecution(Execution):
    """Takes recorded answers from the two runs and earlier probes, and none from elsewhere."""

    def __init__(
        self, probe: ProofProbe, session: ReplaySession, owner: str, policy: Policy, payloads: Payloads
    ) -> None:
        super().__init__(session, owner, policy, payloads)
        profile = OverrideProfile.model_validate(session.profile.profile)
        side: Side = "base" if probe.ask["side"] == "base" else "candidate"
        setup = Setup(run=session.source_run, fork=session.fork_sequence_no, overrides=profile, side=side)
        alike = Signatures(session.source_run.app, self.ignoring.version)
        self._coupling = coupled(probe.proof, setup, Recordings(alike=alike))
        self._payloads = payloads
        self._fresh = probe.repeat > 0
        self._watch: Watch | None = None
        self._copied = loaded_links(probe.ask.get(COPIED, {}))

    def completed_graph(self, graph: Graph) -> Graph:
        return with_links(graph, self._copied)

    def cached(self, signature: str, *, exclude: Collection[UUID]) -> Hit | None:
        return hit(self._coupling, signature, self._payloads)

    def similar(self, call: Call, threshold: float) -> Hit | None:
        return None

    def handle(self, event: Event, replayer: Replayer) -> None:
        if self._watch is None:
            self._watch = Watch(graph=replayer.context.graph, coupling=self._coupling, fresh=self._fresh)
        try:
            self._watch.see(event, self._payloads)
        except (Missed, Lost, MissingPart) as missed:
            raise Stopped(MISSED, str(missed)) from missed
        super().handle(event, replayer)
