"""The order of the members of a cause: those shown without an assumption about the agent's code come first."""

import pytest

from diffing.schemas.evidence import ProbeOutcome
from replay.proofs.core.types import Allowance, Atom, Atoms, Budget, Case, PathStep, ProbeResult, ProbeSpec
from replay.proofs.evidence.findings import prove
from tests.support.ladder_truths import QUESTION

CHANGES = [Atom(id=name, category="prompt", title=name, rank=(rank,)) for rank, name in enumerate(("note", "rule"))]


class Replays:
    """A prober of two changes that are enough together only. A replay that has one alone may assume what code does."""

    def __init__(self, derived: str) -> None:
        self.derived = derived

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        ends = {frozenset[str](): ProbeOutcome.BASE, frozenset({"note", "rule"}): ProbeOutcome.CANDIDATE}
        outcome = ends.get(spec.atoms, ProbeOutcome.OTHER)
        return ProbeResult(outcome=outcome, derived=spec.side == "base" and spec.atoms == {self.derived})

    def parts(self, atom: Atom) -> list[Atom]:
        return []

    def path_steps(self, cause: Atoms) -> list[PathStep]:
        return []


@pytest.mark.parametrize(("derived", "members"), [("note", ["rule", "note"]), ("rule", ["note", "rule"])])
def test_member_that_no_assumption_supports_comes_first(derived: str, members: list[str]) -> None:
    proof = prove(Case(question=QUESTION, atoms=CHANGES), Replays(derived), Budget())
    assert (proof.verdict, proof.primary) == ("joint", [members])
