"""Cases for the ladder whose complete truth is known: the outcome of every combination of changes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from hypothesis import strategies as st

from diffing.schemas.evidence import EvidenceQuestion, Findings, ProbeOutcome
from replay.proofs.core.types import Allowance, Atom, Atoms, Budget, Case, PathStep, ProbeResult, ProbeSpec
from replay.proofs.evidence.findings import prove

Truth = Callable[[Atoms], ProbeOutcome]
QUESTION = EvidenceQuestion(kind="answer", text="the final answer")


@dataclass
class TrueLab:
    """A prober that knows the outcome of every combination; `live` ones need an allowance."""

    truth: Truth
    live: Callable[[Atoms], bool] = lambda subset: False
    requests: list[ProbeSpec] = field(default_factory=list)

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        self.requests.append(spec)
        if not self.live(spec.atoms):
            return self.make_result(self.truth(spec.atoms))
        if allowance.live_calls == 0:
            return ProbeResult(outcome=ProbeOutcome.NEEDS_LIVE, missing="a model has to answer")
        return self.make_result(self.truth(spec.atoms), live_calls=1)

    def parts(self, atom: Atom) -> Sequence[Atom]:
        return ()

    def path_steps(self, cause: Atoms) -> Sequence[PathStep]:
        return ()

    @staticmethod
    def make_result(outcome: ProbeOutcome, live_calls: int = 0) -> ProbeResult:
        return ProbeResult(outcome=outcome, live_calls=live_calls, executed_steps=1)


def atoms(count: int) -> list[Atom]:
    return [
        Atom(id=chr(97 + index), category="prompt", title=f"Change {chr(97 + index)}", rank=(index,))
        for index in range(count)
    ]


def case(count: int, **more: object) -> Case:
    return Case(question=QUESTION, atoms=atoms(count), one_space=True, **more)  # type: ignore[arg-type]  # fields of a case


def prove_truth(truth: Truth, count: int, budget: Budget | None = None, **more: object) -> Findings:
    return prove(case(count, **more), TrueLab(truth), budget or Budget())


def subsets(count: int) -> list[Atoms]:
    names = [atom.id for atom in atoms(count)]
    return [frozenset(names_in_subset) for size in range(count + 1) for names_in_subset in combinations(names, size)]


def smallest(truth: Truth, count: int) -> set[Atoms]:
    """The minimal sets that are enough."""
    good = [causes for causes in subsets(count) if truth(causes) is ProbeOutcome.CANDIDATE]
    return {causes for causes in good if not any(smaller < causes for smaller in good)}


def needs(*sets: str) -> Truth:
    """The candidate's outcome needs any one of the sets."""
    alternatives = [frozenset(causes) for causes in sets]
    return lambda subset: (
        ProbeOutcome.CANDIDATE if any(causes <= subset for causes in alternatives) else ProbeOutcome.BASE
    )


@st.composite
def monotone(draw: st.DrawFn) -> tuple[Truth, int]:
    count = draw(st.integers(1, 7))
    names = [atom.id for atom in atoms(count)]
    sets = draw(st.lists(st.sets(st.sampled_from(names), min_size=1), min_size=1, max_size=4))
    return needs(*("".join(sorted(members)) for members in sets)), count


@st.composite
def arbitrary(draw: st.DrawFn) -> tuple[Truth, int]:
    """Any function, except that no change gives the base's outcome and all changes the candidate's."""
    count = draw(st.integers(1, 6))
    outcomes: list[ProbeOutcome] = [ProbeOutcome.BASE, ProbeOutcome.CANDIDATE, ProbeOutcome.OTHER]
    table = {subset: draw(st.sampled_from(outcomes)) for subset in subsets(count)}
    table[frozenset()], table[subsets(count)[-1]] = ProbeOutcome.BASE, ProbeOutcome.CANDIDATE
    return table.__getitem__, count
