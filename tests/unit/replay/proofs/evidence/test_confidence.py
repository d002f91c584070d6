"""Confidence of a change of which only one direction could be tested."""

import pytest

from diffing.schemas.evidence import ProbeOutcome
from replay.proofs.core.types import Allowance, Atom, Budget, Case, PathStep, ProbeResult, ProbeSpec
from replay.proofs.evidence.findings import prove
from tests.support.ladder_truths import QUESTION


class OneWay:
    """A prober that can only revert a change: the candidate then has this outcome."""

    def __init__(self, outcome: ProbeOutcome) -> None:
        self.outcome = outcome

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        if spec.side == "base":
            return ProbeResult(outcome=ProbeOutcome.NEEDS_LIVE, missing="no recording has this answer")
        return ProbeResult(outcome=ProbeOutcome.CANDIDATE if "a" in spec.atoms else self.outcome)

    def parts(self, atom: Atom) -> list[Atom]:
        return []

    def path_steps(self, cause: frozenset[str]) -> list[PathStep]:
        return []


@pytest.mark.parametrize(("outcome", "confidence"), [(ProbeOutcome.BASE, "medium"), (ProbeOutcome.OTHER, "low")])
def test_a_third_outcome_does_not_show_what_made_the_difference(outcome: ProbeOutcome, confidence: str) -> None:
    changes = [Atom(id=name, category="prompt", title=name) for name in ("a", "b")]
    proof = prove(Case(question=QUESTION, atoms=changes, differs=True), OneWay(outcome), Budget(probes=50))
    assert (proof.primary, proof.confidence) == ([["a"]], confidence)
