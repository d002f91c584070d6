"""The ladder of a proof in which the agent itself runs: probes side by side, and agents that prove nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

from diffing.schemas.evidence import ProbeOutcome
from replay.proofs.core.types import Budget, ProbeSpec, Spending
from replay.proofs.evidence.findings import prove
from tests.support.ladder_truths import (
    TrueLab,
    case,
    needs,
)


@dataclass
class BatchLab(TrueLab):
    """A prober that runs announced probes side by side."""

    def __post_init__(self) -> None:
        self.announcements: list[list[ProbeSpec]] = []

    def expect(self, specs: Sequence[ProbeSpec]) -> None:
        self.announcements.append([*specs])

    def ahead(self) -> Spending:
        return Spending()


def test_certain_probes_are_announced_together() -> None:
    lab = BatchLab(needs("a"))
    prove(case(2), lab, Budget())
    one, other = frozenset("a"), frozenset("b")
    assert lab.announcements[0] == [ProbeSpec(atoms=frozenset(), side="candidate")]
    assert lab.requests[2] == ProbeSpec(atoms=one, side="base")
    assert lab.announcements[2] == [
        ProbeSpec(atoms=other, side="candidate"),
        ProbeSpec(atoms=other, side="base"),
        ProbeSpec(atoms=one, side="candidate"),
    ]


def test_agent_unlike_the_recordings_proves_nothing() -> None:
    lab = TrueLab(needs("a"))
    proof = prove(case(1, obstacle="the agent does something else", runs_agent=True), lab, Budget())
    assert (proof.verdict, proof.confidence, proof.primary, lab.requests) == ("inconclusive", "low", [], [])
    assert proof.conclusion == "Nothing was proved: the agent does something else."
    assert (proof.agent_ran, proof.cheapest_experiment) == (True, None)


def test_base_that_reverting_does_not_restore_names_no_cause() -> None:
    """The agent reproduces the candidate alone, and without any of the changes it does not do what the base did."""
    lab = TrueLab(lambda subset: ProbeOutcome.CANDIDATE if "a" in subset else ProbeOutcome.OTHER)
    proof = prove(case(2, home="candidate", runs_agent=True), lab, Budget())
    assert (proof.verdict, proof.primary) == ("inconclusive", [])
    assert "was not recorded" in proof.conclusion


def test_followed_candidate_without_its_changes_need_not_be_the_base() -> None:
    """What only the candidate recorded keeps its answer."""
    lab = TrueLab(lambda subset: ProbeOutcome.CANDIDATE if "a" in subset else ProbeOutcome.OTHER)
    proof = prove(case(2), lab, Budget())
    assert (proof.verdict, proof.primary) == ("single", [["a"]])
