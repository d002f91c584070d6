"""How a probe is replayed: which run, from which step, with which overrides and recordings."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from diffing.attribution.unexplained_changes import Atom as Root
from diffing.models import DiffReport
from replay.core.vocabulary import COMPLETED, Engine, SessionStatus
from replay.models import Proof, ProofProbe
from replay.overrides.policy import Policy
from replay.overrides.profile import Match, Override, OverrideProfile, ToolOverride
from replay.proofs.core.types import Side
from replay.proofs.counterfactual.copied_values import Links, dump_links
from replay.proofs.counterfactual.coupling import Coupling, counterparts
from replay.proofs.probes import recorded_answers
from replay.proofs.subject import lineage
from replay.sessions.schemas import ReplayRequest
from replay.store.payload_reader import Payloads
from traces.core.canonical import digest
from traces.core.vocabulary import StepType
from traces.models import Run


@dataclass(frozen=True, kw_only=True)
class Setup:
    """The replay of a probe: a run, a fork and overrides.

    `side` is the one whose recording answers first. `copies`: links for copied values that only the recordings of both
    sides together show. `roots`: the changes of the two runs.
    """

    run: Run
    fork: int
    overrides: OverrideProfile
    side: Side
    copies: Links = field(default_factory=dict)
    engine: Engine = Engine.FOLLOW
    roots: Sequence[Root] = ()

    @property
    def configuration(self) -> str:
        """The digest of what is replayed, equal across proofs."""
        copies = [dump_links(self.copies)] if self.copies else []
        # A sample of the agent is none of a replay that follows the recording.
        engine = [str(self.engine)] if self.engine is Engine.AGENT else []
        return digest([str(self.run.id), self.fork, self.overrides.digest, *copies, *engine])

    def request(self, policy: Policy) -> ReplayRequest:
        return ReplayRequest(
            run=str(self.run.id), fork_step=self.fork, overrides=self.overrides, policy=policy, engine=self.engine
        )


def recordings_in_order(proof: Proof, side: Side, source: UUID, statuses: Collection[SessionStatus]) -> list[UUID]:
    """The runs that answer a probe: its own side's, the other side's, then earlier probes that ended so."""
    base, candidate = proof.diff.base_id, proof.diff.candidate_id
    own = [base, candidate] if side == "base" else [candidate, base]
    own += lineage.runs_between(proof.diff.base, proof.diff.candidate)
    probes = ProofProbe.objects.filter(proof__diff=proof.diff_id, repeat=0, session__status__in=statuses)
    earlier = probes.order_by("session__created_at", "id").values_list("session__run_id", flat=True)
    return [*dict.fromkeys([*own, source, *(run for run in earlier if run is not None)])]


def coupling_of(proof: Proof, setup: Setup, load: recorded_answers.Recordings) -> Coupling:
    """The recordings for a replay: its own side's first, then the other side's, then those of earlier probes."""
    sides: dict[Side, UUID] = {"base": proof.diff.base_id, "candidate": proof.diff.candidate_id}
    return recorded_answers.coupling(
        recordings_in_order(proof, setup.side, setup.run.id, COMPLETED),
        source=setup.run.id,
        fork=setup.fork,
        load=load,
        counterparts=counterparts(setup.roots, setup.side, sides),
    )


def counterpart_of(diff: DiffReport, run_id: UUID) -> UUID | None:
    """The run that one of the two runs of a diff is compared with; None for another run."""
    partners = {diff.base_id: diff.candidate_id, diff.candidate_id: diff.base_id}
    return partners.get(run_id)


def clamp(pair: tuple[int, StepType, str, str], payloads: Payloads) -> Override:
    """An override that makes the candidate's step answer as its counterpart in the base."""
    number, type, output_ref, status = pair
    output = payloads(output_ref) if output_ref else None
    match = Match(step=number)
    if type is StepType.TOOL:
        return Override(match=match, tool=ToolOverride.model_validate({"output": output, "status": status}))
    return Override(match=match, output=output)
