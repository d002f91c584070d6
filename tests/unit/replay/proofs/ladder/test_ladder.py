"""The ladder against the whole truth: every combination of changes, on outcomes made at random."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffing.schemas.evidence import Certificate, EvidenceQuestion, Findings, ProbeOutcome
from replay.proofs.core.types import Allowance, Atom, Atoms, Budget, Case, PathStep, ProbeResult, ProbeSpec, Spending
from replay.proofs.evidence.findings import findings, prove
from replay.proofs.ladder.ladder import Ladder

Truth = Callable[[Atoms], ProbeOutcome]
QUESTION = EvidenceQuestion(kind="answer", text="the final answer")
LEVELS = {"noise": 0, "low": 0, "medium": 1, "high": 2}


@dataclass
class TrueLab:
    """A lab that knows the outcome of every combination; `live` ones need an allowance."""

    truth: Truth
    live: Callable[[Atoms], bool] = lambda applied: False
    asked: list[ProbeSpec] = field(default_factory=list)

    def probe(self, ask: ProbeSpec, allowance: Allowance) -> ProbeResult:
        self.asked.append(ask)
        if not self.live(ask.atoms):
            return self.seen(self.truth(ask.atoms))
        if allowance.live_calls == 0:
            return ProbeResult(outcome="needs_live", missing="a model has to answer")
        return self.seen(self.truth(ask.atoms), live_calls=1)

    def parts(self, atom: Atom) -> Sequence[Atom]:
        return ()

    def path_steps(self, cause: Atoms) -> Sequence[PathStep]:
        return ()

    @staticmethod
    def seen(outcome: ProbeOutcome, live_calls: int = 0) -> ProbeResult:
        return ProbeResult(outcome=outcome, live_calls=live_calls, executed_steps=1)


def atoms(count: int) -> list[Atom]:
    return [Atom(id=chr(97 + at), category="prompt", title=f"Change {chr(97 + at)}", rank=(at,)) for at in range(count)]


def case(count: int, **more: object) -> Case:
    return Case(question=QUESTION, atoms=atoms(count), one_space=True, **more)  # type: ignore[arg-type]  # fields of a case


def proved(truth: Truth, count: int, budget: Budget | None = None, **more: object) -> Findings:
    return prove(case(count, **more), TrueLab(truth), budget or Budget())


def every(count: int) -> list[Atoms]:
    names = [atom.id for atom in atoms(count)]
    return [frozenset(chosen) for size in range(count + 1) for chosen in combinations(names, size)]


def smallest(truth: Truth, count: int) -> set[Atoms]:
    """The sets that are enough and hold no smaller one."""
    good = [one for one in every(count) if truth(one) == "candidate"]
    return {one for one in good if not any(other < one for other in good)}


def needs(*sets: str) -> Truth:
    """Enough is any of the sets."""
    wanted = [frozenset(one) for one in sets]
    return lambda applied: "candidate" if any(one <= applied for one in wanted) else "base"


@st.composite
def monotone(draw: st.DrawFn) -> tuple[Truth, int]:
    count = draw(st.integers(1, 7))
    names = [atom.id for atom in atoms(count)]
    sets = draw(st.lists(st.sets(st.sampled_from(names), min_size=1), min_size=1, max_size=4))
    return needs(*("".join(sorted(one)) for one in sets)), count


@st.composite
def arbitrary(draw: st.DrawFn) -> tuple[Truth, int]:
    """Any function at all, but that nothing gives the base's outcome and everything the candidate's."""
    count = draw(st.integers(1, 6))
    outcomes: list[ProbeOutcome] = ["base", "candidate", "other"]
    table = {one: draw(st.sampled_from(outcomes)) for one in every(count)}
    table[frozenset()], table[every(count)[-1]] = "base", "candidate"
    return table.__getitem__, count


@given(monotone())
def test_of_monotone_causes_it_finds_the_smallest_sets(given: tuple[Truth, int]) -> None:
    truth, count = given
    found = proved(truth, count)
    sets = smallest(truth, count)
    named = {frozenset(one) for one in found.primary}
    assert named
    assert named <= sets
    if count <= 6:
        assert named == sets
    if len(sets) > 1:
        assert (found.verdict, found.confidence) == ("over_determined", "medium")
    elif len(next(iter(sets))) > 1:
        assert (found.verdict, found.confidence) == ("joint", "medium")
    else:
        assert (found.verdict, found.confidence) == ("single", "high")


@given(arbitrary())
def test_nothing_is_claimed_that_is_not_so(given: tuple[Truth, int]) -> None:
    """Also where changes mask, cancel or pre-empt each other."""
    truth, count = given
    found = proved(truth, count)
    whole = frozenset(atom.id for atom in atoms(count))
    for atom in found.atoms:
        alone = frozenset({atom.id})
        assert atom.sufficient in (None, truth(alone) == "candidate")
        assert atom.necessary in (None, truth(whole - alone) != "candidate")
    for one in found.primary:
        assert truth(frozenset(one)) == "candidate"
    assert {frozenset(one) for one in found.primary} & smallest(truth, count)
    if found.confidence == "high":
        [[name]] = found.primary
        assert truth(frozenset({name})) == "candidate" != truth(whole - {name})
    if found.verdict in {"joint", "over_determined"}:
        assert "every combination was tried" in found.rule
        assert {frozenset(one) for one in found.primary} == smallest(truth, count)
        assert sum(atom.shapley or 0.0 for atom in found.atoms) == pytest.approx(1.0, rel=1e-4)


@given(arbitrary(), st.integers(1, 40))
def test_a_smaller_budget_is_never_surer(given: tuple[Truth, int], most: int) -> None:
    truth, count = given
    whole, part = proved(truth, count), proved(truth, count, Budget(probes=most))
    assert LEVELS[part.confidence] <= LEVELS[whole.confidence]
    assert len(part.probes) <= most
    if part.stopped == "" and whole.stopped == "":
        assert part == whole


@given(monotone() | arbitrary(), st.sets(st.integers(0, 127)))
def test_what_is_not_known_is_not_claimed(given: tuple[Truth, int], places: set[int]) -> None:
    """Some combinations need a live call that the budget forbids, or allows."""
    truth, count = given
    whole = frozenset(atom.id for atom in atoms(count))
    live = {one for at, one in enumerate(every(count)) if at in places}
    lab = TrueLab(truth, live=lambda applied: applied in live)
    for found in (prove(case(count), lab, Budget()), prove(case(count), lab, Budget(live_calls=None))):
        assert found.live_calls == sum(probe.live_calls for probe in found.probes)
        if found.confidence == "high":
            [[name]] = found.primary
            assert truth(frozenset({name})) == "candidate" != truth(whole - {name})
        if found.verdict in {"joint", "over_determined"} and found.rule.startswith(("A set", "Several")):
            for one in map(frozenset, found.primary):
                assert truth(one) == "candidate" or all(truth(whole - {name}) != "candidate" for name in one)


@given(monotone(), st.sets(st.integers(0, 127)))
def test_of_monotone_causes_fewer_answers_are_never_surer(given: tuple[Truth, int], places: set[int]) -> None:
    truth, count = given
    live = {one for at, one in enumerate(every(count)) if at in places}
    part = prove(case(count), TrueLab(truth, live=lambda applied: applied in live), Budget())
    whole = proved(truth, count)
    assert part.live_calls == 0
    assert LEVELS[part.confidence] <= LEVELS[whole.confidence]


@given(monotone())
def test_the_same_question_from_the_other_side_names_the_same_changes(given: tuple[Truth, int]) -> None:
    """A change that is enough one way is needed the other way; a single cause is the same both ways."""
    truth, count = given
    whole = frozenset(atom.id for atom in atoms(count))
    swapped: dict[ProbeOutcome, ProbeOutcome] = {"base": "candidate", "candidate": "base", "other": "other"}
    there, back = proved(truth, count), proved(lambda applied: swapped[truth(whole - applied)], count)
    assert (there.verdict == "single") == (back.verdict == "single")
    if there.verdict == "single":
        assert there.primary == back.primary
    for one, other in zip(there.atoms, back.atoms, strict=True):
        assert None in (one.sufficient, other.necessary) or one.sufficient == other.necessary


@given(arbitrary(), st.data())
def test_it_can_stop_anywhere_and_go_on_with_the_answers_it_has(given: tuple[Truth, int], data: st.DataObject) -> None:
    truth, count = given
    lab = TrueLab(truth)
    first = Ladder(case=case(count), prober=lab, budget=Budget())
    answered: dict[ProbeSpec, ProbeResult] = {}
    for at, made in enumerate(first.run()):
        answered[made.request.spec] = made.result
        if at == data.draw(st.integers(0, 30)):
            break
    begun = len(lab.asked)
    again = Ladder(case=case(count), prober=_Remembers(lab, answered), budget=Budget())
    for _ in again.run():
        pass
    assert findings(again) == proved(truth, count)
    assert not set(lab.asked[begun:]) & answered.keys()


@dataclass
class _Remembers:
    """What a stored proof does: an answered probe is not made again."""

    lab: TrueLab
    answered: dict[ProbeSpec, ProbeResult]

    def probe(self, ask: ProbeSpec, allowance: Allowance) -> ProbeResult:
        return self.answered[ask] if ask in self.answered else self.lab.probe(ask, allowance)

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
def test_the_kinds_of_cause(truth: Truth, verdict: str, confidence: str, primary: list[list[str]]) -> None:
    found = proved(truth, 3)
    assert (found.verdict, found.confidence, found.primary) == (verdict, confidence, primary)


def test_a_single_cause_takes_two_probes_for_each_change_and_two_more() -> None:
    for count in range(1, 13):
        assert len(proved(needs("a"), count).probes) <= 2 * count + 2


def test_a_big_change_is_halved() -> None:
    names = [f"atom {at:03}" for at in range(200)]
    many = [Atom(id=name, category="prompt", title=name, rank=(at,)) for at, name in enumerate(names)]
    found = prove(
        Case(question=QUESTION, atoms=many, one_space=True), TrueLab(needs_names(names[117])), Budget(probes=60)
    )
    assert (found.verdict, found.confidence, found.primary) == ("single", "high", [["atom 117"]])


def test_a_single_cause_is_sure_only_when_every_other_change_was_tried_alone() -> None:
    """`a`, or `b` where `c` does not undo what it does: the two others together are not enough, and one of them is."""

    def truth(applied: Atoms) -> ProbeOutcome:
        return "candidate" if "a" in applied or applied == {"b"} else "base"

    def found(live_calls: int) -> Findings:
        lab = TrueLab(truth, live=lambda applied: applied == {"b"})
        return prove(case(3), lab, Budget(live_calls=live_calls))

    untried, tried = found(0), found(1)
    assert (untried.verdict, untried.confidence, untried.primary) == ("single", "medium", [["a"]])
    assert "one of them may also be sufficient" in untried.rule
    assert (tried.verdict, tried.primary) == ("over_determined", [["a"], ["b"]])


def test_a_second_cause_is_found_where_a_change_disturbs_it_in_the_whole() -> None:
    """`a` with `b`, or with `c`; but without `b` the change `d` undoes what `c` does, so that `b` looks needed."""

    def truth(applied: Atoms) -> ProbeOutcome:
        hit = applied >= {"a", "b"} or (applied >= {"a", "c"} and "d" not in applied)
        return "candidate" if hit else "base"

    for count in (8, 12):
        found = proved(truth, count)
        assert (found.verdict, found.confidence) == ("over_determined", "medium")
        assert {frozenset(one) for one in found.primary} == {frozenset("ab"), frozenset("ac")}


def test_of_many_changes_it_says_that_another_set_may_be_enough() -> None:
    """`a` with `b`, or with `c` and `d` where none of `e` to `h` is: no way from the whole leads there."""

    def truth(applied: Atoms) -> ProbeOutcome:
        hit = applied >= {"a", "b"} or (applied >= {"a", "c", "d"} and applied.isdisjoint("efgh"))
        return "candidate" if hit else "base"

    found = proved(truth, 12)
    assert (found.verdict, found.confidence, found.primary) == ("joint", "medium", [["a", "b"]])
    assert "another set may also be sufficient" in found.rule


def needs_names(*names: str) -> Truth:
    return lambda applied: "candidate" if applied.issuperset(names) else "base"


def test_shares_and_interactions_of_two_that_need_each_other() -> None:
    found = proved(needs("ab"), 3)
    assert [atom.shapley for atom in found.atoms] == [0.5, 0.5, 0.0]
    assert [(each.one, each.other, each.value) for each in found.interactions] == [("a", "b", 1.0)]
    either = proved(needs("a", "b"), 2)
    assert [(each.one, each.other, each.value) for each in either.interactions] == [("a", "b", -1.0)]


def test_a_certified_change_is_not_reverted() -> None:
    inert = Certificate(kind="inert", reason="its step answered the same")
    given = [atoms(2)[0], Atom(id="b", category="tool", title="b", rank=(0,), certificate=inert)]
    lab = TrueLab(needs("a"))
    found = prove(Case(question=QUESTION, atoms=given, one_space=True), lab, Budget())
    assert found.confidence == "high"
    assert found.atoms[-1].necessary is False or found.atoms[0].necessary is False
    assert sum(ask.atoms == frozenset("a") and ask.side == "candidate" for ask in lab.asked) == 0


def test_what_certificates_leave_is_named_where_nothing_can_be_replayed() -> None:
    inert = Certificate(kind="unreached", reason="no recorded data flow leads from it to the answer")
    given = [atoms(1)[0], Atom(id="b", category="tool", title="b", certificate=inert)]
    lab = TrueLab(needs("a"), live=lambda applied: True)
    found = prove(Case(question=QUESTION, atoms=given), lab, Budget())
    assert (found.verdict, found.confidence, found.primary) == ("single", "medium", [["a"]])


def test_a_change_that_cannot_be_tried_but_cannot_matter_either_leaves_no_doubt() -> None:
    inert = Certificate(kind="inert", reason="its step answered the same")
    given = [
        atoms(1)[0],
        Atom(id="b", category="tool", title="b", certificate=inert),
        Atom(id="c", category="structure", title="c", certificate=inert, why_not="nobody used it"),
    ]
    lab = TrueLab(needs("a"), live=lambda applied: True)
    found = prove(Case(question=QUESTION, atoms=given), lab, Budget())
    assert (found.verdict, found.confidence, found.primary) == ("single", "medium", [["a"]])


def test_one_direction_is_medium_and_says_what_would_settle_it() -> None:
    lab = TrueLab(needs("a"), live=lambda applied: "a" not in applied and bool(applied))
    found = prove(case(2, live_calls=3, live_cost_usd=0.01), lab, Budget())
    assert (found.verdict, found.confidence) == ("single", "medium")
    assert found.rule.startswith("One direction only")
    assert found.cheapest_experiment is not None
    assert (found.cheapest_experiment.replays, found.cheapest_experiment.live_calls) == (2, 6)


def test_changes_that_do_not_make_the_difference_are_not_blamed() -> None:
    found = proved(lambda applied: "base", 3)
    assert (found.verdict, found.confidence, found.primary) == ("inconclusive", "low", [])
    assert "not recorded" in found.conclusion


def test_equal_outcomes_need_no_probe() -> None:
    found = proved(needs("a"), 2, differs=False)
    assert (found.verdict, found.confidence, found.probes) == ("no_effect", "noise", [])


def test_a_change_without_meaning_alone_is_tried_with_what_it_needs() -> None:
    given = [atoms(1)[0], Atom(id="b", category="prompt", title="b", rank=(1,), requires=frozenset("a"))]
    lab = TrueLab(needs("b"))
    prove(Case(question=QUESTION, atoms=given, one_space=True), lab, Budget())
    assert frozenset("b") not in {ask.atoms for ask in lab.asked}


class Divided(TrueLab):
    """Change `a` has three parts, of which `a.1` counts; it has two, of which `a.1.0` does."""

    def parts(self, atom: Atom) -> Sequence[Atom]:
        count = {"a": 3, "a.1": 2}.get(atom.id, 0)
        return [
            Atom(id=f"{atom.id}.{at}", category="prompt", title=f"Part {at}", parent=atom.id, rank=(at,))
            for at in range(count)
        ]

    def probe(self, ask: ProbeSpec, allowance: Allowance) -> ProbeResult:
        self.asked.append(ask)
        hit = bool(ask.atoms & {"a", "a.1", "a.1.0"})
        return self.seen("candidate" if hit else "base")


def test_the_cause_is_divided_until_it_is_one_thing() -> None:
    found = prove(case(2), Divided(needs("a")), Budget())
    marked = {atom.id: (atom.sufficient, atom.necessary) for atom in found.atoms}
    assert marked["a.1"] == marked["a.1.0"] == (True, True)
    assert marked["a.0"] == marked["a.1.1"] == (False, False)
    assert [atom.id for atom in found.atoms] == ["a", "a.0", "a.1", "a.1.0", "a.1.1", "a.2", "b"]


class Eager(TrueLab):
    """Begins probes ahead, some of which nobody will ask for."""

    def expect(self, asks: Sequence[ProbeSpec]) -> None:
        """Nothing to do: what it began is told by `ahead`."""

    def ahead(self) -> Spending:
        return Spending(live_calls=3, cost_usd=0.5)


def test_probes_begun_in_vain_are_paid_for() -> None:
    found = prove(case(2), Eager(needs("a")), Budget())
    assert (found.live_calls, found.cost_usd) == (3, 0.5)
