"""The ladder against the complete truth: every combination of changes, with random outcomes."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffing.schemas.evidence import Certificate, Findings, ProbeOutcome
from replay.proofs.core.types import Allowance, Atom, Atoms, Budget, Case, PathStep, ProbeResult, ProbeSpec, Spending
from replay.proofs.evidence.findings import findings, prove
from replay.proofs.ladder.ladder import Ladder
from tests.support.ladder_truths import (
    QUESTION,
    TrueLab,
    Truth,
    arbitrary,
    atoms,
    case,
    monotone,
    needs,
    prove_truth,
    smallest,
    subsets,
)

LEVELS = {"noise": 0, "low": 0, "medium": 1, "high": 2}


@given(monotone())
def test_monotone_causes_yield_smallest_sets(sample: tuple[Truth, int]) -> None:
    truth, count = sample
    proof = prove_truth(truth, count)
    sets = smallest(truth, count)
    primary_sets = {frozenset(causes) for causes in proof.primary}
    assert primary_sets
    assert primary_sets <= sets
    if count <= 6:
        assert primary_sets == sets
    if len(sets) > 1:
        assert (proof.verdict, proof.confidence) == ("over_determined", "medium")
    elif len(next(iter(sets))) > 1:
        assert (proof.verdict, proof.confidence) == ("joint", "medium")
    else:
        assert (proof.verdict, proof.confidence) == ("single", "high")


@given(arbitrary())
def test_every_claim_is_true(sample: tuple[Truth, int]) -> None:
    """Claims stay true if changes mask, cancel or pre-empt each other."""
    truth, count = sample
    proof = prove_truth(truth, count)
    whole = frozenset(atom.id for atom in atoms(count))
    for atom in proof.atoms:
        alone = frozenset({atom.id})
        assert atom.sufficient in (None, truth(alone) == ProbeOutcome.CANDIDATE)
        assert atom.necessary in (None, truth(whole - alone) != ProbeOutcome.CANDIDATE)
    for causes in proof.primary:
        assert truth(frozenset(causes)) == ProbeOutcome.CANDIDATE
    assert {frozenset(causes) for causes in proof.primary} & smallest(truth, count)
    if proof.confidence == "high":
        [[name]] = proof.primary
        assert truth(frozenset({name})) == ProbeOutcome.CANDIDATE != truth(whole - {name})
    if proof.verdict in {"joint", "over_determined"}:
        assert "every combination was tried" in proof.rule
        assert {frozenset(causes) for causes in proof.primary} == smallest(truth, count)
        assert sum(atom.shapley or 0.0 for atom in proof.atoms) == pytest.approx(1.0, rel=1e-4)


@given(arbitrary(), st.integers(1, 40))
def test_smaller_budget_never_raises_confidence(sample: tuple[Truth, int], most: int) -> None:
    truth, count = sample
    whole, part = prove_truth(truth, count), prove_truth(truth, count, Budget(probes=most))
    assert LEVELS[part.confidence] <= LEVELS[whole.confidence]
    assert len(part.probes) <= most
    if part.stopped == "" and whole.stopped == "":
        assert part == whole


@given(monotone() | arbitrary(), st.sets(st.integers(0, 127)))
def test_unknown_answers_are_not_claimed(sample: tuple[Truth, int], places: set[int]) -> None:
    """Some combinations need a live call that the budget forbids, or allows."""
    truth, count = sample
    whole = frozenset(atom.id for atom in atoms(count))
    live = {subset for index, subset in enumerate(subsets(count)) if index in places}
    lab = TrueLab(truth, live=lambda subset: subset in live)
    for proof in (prove(case(count), lab, Budget()), prove(case(count), lab, Budget(live_calls=None))):
        assert proof.live_calls == sum(probe.live_calls for probe in proof.probes)
        if proof.confidence == "high":
            [[name]] = proof.primary
            assert truth(frozenset({name})) == ProbeOutcome.CANDIDATE != truth(whole - {name})
        if proof.verdict in {"joint", "over_determined"} and proof.rule.startswith(("A set", "Several")):
            for subset in map(frozenset, proof.primary):
                assert truth(subset) == ProbeOutcome.CANDIDATE or all(
                    truth(whole - {name}) != ProbeOutcome.CANDIDATE for name in subset
                )


@given(monotone(), st.sets(st.integers(0, 127)))
def test_fewer_answers_never_raise_confidence(sample: tuple[Truth, int], places: set[int]) -> None:
    truth, count = sample
    live = {subset for index, subset in enumerate(subsets(count)) if index in places}
    part = prove(case(count), TrueLab(truth, live=lambda subset: subset in live), Budget())
    whole = prove_truth(truth, count)
    assert part.live_calls == 0
    assert LEVELS[part.confidence] <= LEVELS[whole.confidence]


@given(monotone())
def test_swapped_sides_name_the_same_changes(sample: tuple[Truth, int]) -> None:
    """A change that is enough one way is needed the other way; a single cause is the same both ways."""
    truth, count = sample
    whole = frozenset(atom.id for atom in atoms(count))
    opposite: dict[ProbeOutcome, ProbeOutcome] = {
        ProbeOutcome.BASE: ProbeOutcome.CANDIDATE,
        ProbeOutcome.CANDIDATE: ProbeOutcome.BASE,
        ProbeOutcome.OTHER: ProbeOutcome.OTHER,
    }
    forward, backward = prove_truth(truth, count), prove_truth(lambda subset: opposite[truth(whole - subset)], count)
    assert (forward.verdict == "single") == (backward.verdict == "single")
    if forward.verdict == "single":
        assert forward.primary == backward.primary
    for first, second in zip(forward.atoms, backward.atoms, strict=True):
        assert None in (first.sufficient, second.necessary) or first.sufficient == second.necessary


@given(arbitrary(), st.data())
def test_ladder_resumes_from_stored_results(sample: tuple[Truth, int], data: st.DataObject) -> None:
    truth, count = sample
    lab = TrueLab(truth)
    first = Ladder(case=case(count), prober=lab, budget=Budget())
    results: dict[ProbeSpec, ProbeResult] = {}
    for index, step in enumerate(first.run()):
        results[step.request.spec] = step.result
        if index == data.draw(st.integers(0, 30)):
            break
    first_count = len(lab.requests)
    second_ladder = Ladder(case=case(count), prober=_Remembers(lab, results), budget=Budget())
    for _ in second_ladder.run():
        pass
    assert findings(second_ladder) == prove_truth(truth, count)
    assert not set(lab.requests[first_count:]) & results.keys()


@dataclass
class _Remembers:
    """A stored proof: a probe with a result does not run again."""

    lab: TrueLab
    results: dict[ProbeSpec, ProbeResult]

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        return self.results[spec] if spec in self.results else self.lab.probe(spec, allowance)

    def parts(self, atom: Atom) -> Sequence[Atom]:
        return ()

    def path_steps(self, cause: Atoms) -> Sequence[PathStep]:
        return ()


@pytest.mark.parametrize(
    ("truth", "verdict", "confidence", "primary"),
    [
        (needs("b"), "single", "high", [["b"]]),
        (needs("ac"), "joint", "medium", [["a", "c"]]),
        (needs("a", "c"), "over_determined", "medium", [["a"], ["c"]]),
        (needs("a", "bc"), "over_determined", "medium", [["a"], ["b", "c"]]),
    ],
)
def test_verdicts_cover_the_kinds_of_cause(
    truth: Truth, verdict: str, confidence: str, primary: list[list[str]]
) -> None:
    proof = prove_truth(truth, 3)
    assert (proof.verdict, proof.confidence, proof.primary) == (verdict, confidence, primary)


def test_single_cause_takes_two_probes_per_change() -> None:
    for count in range(1, 13):
        assert len(prove_truth(needs("a"), count).probes) <= 2 * count + 2


def test_many_changes_are_halved() -> None:
    names = [f"atom {index:03}" for index in range(200)]
    many = [Atom(id=name, category="prompt", title=name, rank=(index,)) for index, name in enumerate(names)]
    proof = prove(
        Case(question=QUESTION, atoms=many, one_space=True), TrueLab(needs_names(names[117])), Budget(probes=60)
    )
    assert (proof.verdict, proof.confidence, proof.primary) == ("single", "high", [["atom 117"]])


def test_high_confidence_needs_every_rival_tried() -> None:
    """`a`, or `b` unless `c` undoes it: `b` and `c` together are not enough, but `b` alone is."""

    def truth(subset: Atoms) -> ProbeOutcome:
        return ProbeOutcome.CANDIDATE if "a" in subset or subset == {"b"} else ProbeOutcome.BASE

    def proof(live_calls: int) -> Findings:
        lab = TrueLab(truth, live=lambda subset: subset == {"b"})
        return prove(case(3), lab, Budget(live_calls=live_calls))

    without_live_calls, with_live_calls = proof(0), proof(1)
    assert (without_live_calls.verdict, without_live_calls.confidence, without_live_calls.primary) == (
        "single",
        "medium",
        [["a"]],
    )
    assert "one of them may also be sufficient" in without_live_calls.rule
    assert (with_live_calls.verdict, with_live_calls.primary) == ("over_determined", [["a"], ["b"]])


def test_disturbed_second_cause_is_found() -> None:
    """`a` with `b`, or with `c`; but without `b`, `d` undoes `c`, so that `b` looks needed."""

    def truth(subset: Atoms) -> ProbeOutcome:
        hit = subset >= {"a", "b"} or (subset >= {"a", "c"} and "d" not in subset)
        return ProbeOutcome.CANDIDATE if hit else ProbeOutcome.BASE

    for count in (8, 12):
        proof = prove_truth(truth, count)
        assert (proof.verdict, proof.confidence) == ("over_determined", "medium")
        assert {frozenset(causes) for causes in proof.primary} == {frozenset("ab"), frozenset("ac")}


def test_many_changes_leave_other_sets_possible() -> None:
    """`a` with `b`, or with `c` and `d` without any of `e` to `h`: no path from all changes leads there."""

    def truth(subset: Atoms) -> ProbeOutcome:
        hit = subset >= {"a", "b"} or (subset >= {"a", "c", "d"} and subset.isdisjoint("efgh"))
        return ProbeOutcome.CANDIDATE if hit else ProbeOutcome.BASE

    proof = prove_truth(truth, 12)
    assert (proof.verdict, proof.confidence, proof.primary) == ("joint", "medium", [["a", "b"]])
    assert "another set may also be sufficient" in proof.rule


def needs_names(*names: str) -> Truth:
    return lambda subset: ProbeOutcome.CANDIDATE if subset.issuperset(names) else ProbeOutcome.BASE


def test_joint_causes_share_and_interact() -> None:
    proof = prove_truth(needs("ab"), 3)
    assert [atom.shapley for atom in proof.atoms] == [0.5, 0.5, 0.0]
    assert [(interaction.one, interaction.other, interaction.value) for interaction in proof.interactions] == [
        ("a", "b", 1.0)
    ]
    either = prove_truth(needs("a", "b"), 2)
    assert [(interaction.one, interaction.other, interaction.value) for interaction in either.interactions] == [
        ("a", "b", -1.0)
    ]


def test_certified_change_is_not_reverted() -> None:
    inert = Certificate(kind="inert", reason="its step answered the same")
    changes = [atoms(2)[0], Atom(id="b", category="tool", title="b", rank=(0,), certificate=inert)]
    lab = TrueLab(needs("a"))
    proof = prove(Case(question=QUESTION, atoms=changes, one_space=True), lab, Budget())
    assert proof.confidence == "high"
    assert proof.atoms[-1].necessary is False or proof.atoms[0].necessary is False
    assert sum(spec.atoms == frozenset("a") and spec.side == "candidate" for spec in lab.requests) == 0


def test_last_uncertified_change_is_named() -> None:
    inert = Certificate(kind="unreached", reason="no recorded data flow leads from it to the answer")
    changes = [atoms(1)[0], Atom(id="b", category="tool", title="b", certificate=inert)]
    lab = TrueLab(needs("a"), live=lambda subset: True)
    proof = prove(Case(question=QUESTION, atoms=changes), lab, Budget())
    assert (proof.verdict, proof.confidence, proof.primary) == ("single", "medium", [["a"]])


def test_certified_untestable_change_leaves_no_doubt() -> None:
    inert = Certificate(kind="inert", reason="its step answered the same")
    changes = [
        atoms(1)[0],
        Atom(id="b", category="tool", title="b", certificate=inert),
        Atom(id="c", category="structure", title="c", certificate=inert, why_not="its output was not used"),
    ]
    lab = TrueLab(needs("a"), live=lambda subset: True)
    proof = prove(Case(question=QUESTION, atoms=changes), lab, Budget())
    assert (proof.verdict, proof.confidence, proof.primary) == ("single", "medium", [["a"]])


def test_one_direction_has_medium_confidence() -> None:
    lab = TrueLab(needs("a"), live=lambda subset: "a" not in subset and bool(subset))
    proof = prove(case(2, live_calls=3, live_cost_usd=0.01), lab, Budget())
    assert (proof.verdict, proof.confidence) == ("single", "medium")
    assert proof.rule.startswith("One direction only")
    assert proof.cheapest_experiment is not None
    assert (proof.cheapest_experiment.replays, proof.cheapest_experiment.live_calls) == (2, 6)


def test_part_of_joint_cause_has_low_confidence() -> None:
    tested = (frozenset("a"), frozenset("bc"))
    proof = prove(case(3), TrueLab(needs("abc"), live=lambda subset: subset not in tested), Budget())
    assert (proof.verdict, proof.confidence, proof.primary) == ("joint", "low", [["a"]])
    assert proof.rule == "Replays show that it is necessary, but not what else the difference needs."


def test_insufficient_changes_are_not_blamed() -> None:
    proof = prove_truth(lambda subset: ProbeOutcome.BASE, 3)
    assert (proof.verdict, proof.confidence, proof.primary) == ("inconclusive", "low", [])
    assert "not recorded" in proof.conclusion


def test_equal_outcomes_need_no_probe() -> None:
    proof = prove_truth(needs("a"), 2, differs=False)
    assert (proof.verdict, proof.confidence, proof.probes) == ("no_effect", "noise", [])


def test_required_changes_are_applied_together() -> None:
    changes = [atoms(1)[0], Atom(id="b", category="prompt", title="b", rank=(1,), requires=frozenset("a"))]
    lab = TrueLab(needs("b"))
    prove(Case(question=QUESTION, atoms=changes, one_space=True), lab, Budget())
    assert frozenset("b") not in {spec.atoms for spec in lab.requests}


class DividingLab(TrueLab):
    """Change `a` has three parts, of which `a.1` counts; it has two, of which `a.1.0` does."""

    def parts(self, atom: Atom) -> Sequence[Atom]:
        count = {"a": 3, "a.1": 2}.get(atom.id, 0)
        return [
            Atom(id=f"{atom.id}.{index}", category="prompt", title=f"Part {index}", parent=atom.id, rank=(index,))
            for index in range(count)
        ]

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        self.requests.append(spec)
        hit = bool(spec.atoms & {"a", "a.1", "a.1.0"})
        return self.make_result(ProbeOutcome.CANDIDATE if hit else ProbeOutcome.BASE)


def test_cause_is_divided_to_its_parts() -> None:
    proof = prove(case(2), DividingLab(needs("a")), Budget())
    flags = {atom.id: (atom.sufficient, atom.necessary) for atom in proof.atoms}
    assert flags["a.1"] == flags["a.1.0"] == (True, True)
    assert flags["a.0"] == flags["a.1.1"] == (False, False)
    assert [atom.id for atom in proof.atoms] == ["a", "a.0", "a.1", "a.1.0", "a.1.1", "a.2", "b"]


class Eager(TrueLab):
    """Starts probes ahead, some of which are never requested."""

    def expect(self, specs: Sequence[ProbeSpec]) -> None:
        """Nothing to do: what it began is told by `ahead`."""

    def ahead(self) -> Spending:
        return Spending(live_calls=3, cost_usd=0.5)


def test_unused_probes_count_as_spending() -> None:
    proof = prove(case(2), Eager(needs("a")), Budget())
    assert (proof.live_calls, proof.cost_usd) == (3, 0.5)
