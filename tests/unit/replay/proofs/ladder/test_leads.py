"""The order of changes while nothing is decided, and model answers whose wording always differs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import pytest

from diffing.schemas.evidence import Findings, ProbeOutcome
from replay.proofs.core.types import Allowance, Atom, Atoms, Budget, Case, PathStep, ProbeResult, ProbeSpec, Side, Stray
from replay.proofs.counterfactual import outcomes
from replay.proofs.counterfactual.outcomes import Result
from replay.proofs.evidence.findings import prove
from replay.proofs.ladder.facts import Facts, ProbeRequest, Space
from replay.proofs.ladder.leads import leaning, weight

UNKNOWN = "no recording shows what the code makes of it"


class Code:
    """A prober whose probes end before the agent's code, after a first answer of one model."""

    def __init__(self, answers: Mapping[Atoms, Sequence[str]], *, final: Mapping[Atoms, str] | None = None) -> None:
        self.answers, self.final = answers, final or {}
        self.requests: list[ProbeSpec] = []
        self.all = max(answers, key=len)

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        self.requests.append(spec)
        if spec.atoms in self.final and not spec.repeat:
            values = outcomes.values("answer", Result(answer=self.final[spec.atoms]))
            return ProbeResult(outcome=ProbeOutcome.OTHER, value=values["answer"], values=values, live_calls=1)
        texts = self.answers[spec.atoms]
        base, candidate = self.answers[frozenset()][0], self.answers[self.all][0]
        stray = Stray(step=2, text=texts[spec.repeat % len(texts)], base=base, candidate=candidate)
        return ProbeResult(outcome=ProbeOutcome.NEEDS_LIVE, missing=UNKNOWN, strays=[stray], live_calls=1)

    def parts(self, atom: Atom) -> list[Atom]:
        return []

    def path_steps(self, cause: Atoms) -> list[PathStep]:
        return []


def atoms(*names: str) -> frozenset[str]:
    return frozenset(names)


VOUCHER = "The voucher is yours."
EXPERT = "The expert visits you."


def prove_lab(
    lab: Code,
    *,
    is_sampled: bool = False,
    base_answer: str = VOUCHER,
    candidate_answer: str = EXPERT,
    marks: Mapping[str, str] = MappingProxyType({}),
) -> Findings:
    changes = [
        Atom(
            id=name,
            category="prompt",
            title=name,
            rank=(rank,),
            fails=marks.get(name) == "fails",
            echoes=marks.get(name) == "echoes",
        )
        for rank, name in enumerate(sorted(lab.all))
    ]
    sides: Mapping[Side, str] = {"base": base_answer, "candidate": candidate_answer}
    case = Case(
        question=outcomes.question("answer", []),
        atoms=changes,
        is_sampled=is_sampled,
        coarser=outcomes.coarser("answer"),
        values={side: outcomes.values("answer", Result(answer=text)) for side, text in sides.items()},
    )
    return prove(case, lab, Budget(live_calls=None))


def test_closer_stray_ranks_first() -> None:
    lab = Code(
        {
            atoms(): ["severity 20"],
            atoms("a"): ["severity 15"],
            atoms("b"): ["severity 65"],
            atoms("a", "b"): ["severity 60"],
        }
    )
    proof = prove_lab(lab)
    assert (proof.verdict, proof.confidence, proof.primary) == ("inconclusive", "low", [])
    assert [atom.id for atom in proof.atoms] == ["b", "a"]


def test_repeats_separate_wording_from_decision() -> None:
    openings = ("Sure.", "Right, here you are.", "Of course.", "Let me see.", "Thanks.")
    first, second = (
        [f"{opening} Offer {letter} wins." for opening in order]
        for letter, order in (("B", openings), ("C", openings[::-1]))
    )
    lab = Code(
        {
            atoms(): first,
            atoms("a"): ["Thanks. Offer B wins."],
            atoms("b"): ["Sure. Offer C wins."],
            atoms("a", "b"): second,
        }
    )
    proof = prove_lab(lab, is_sampled=True)
    assert [atom.id for atom in proof.atoms] == ["b", "a"]
    assert proof.confidence == "low"
    # The prober of this test learns no wording, so all practice repeats of both sides are drawn.
    assert sum(bool(spec.repeat) for spec in lab.requests) == 12


class LearningCode(Code):
    """A prober that knows the wording after four repeats of each side, and then continues."""

    passes_code = False

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        result = super().probe(spec, allowance)
        if sum(bool(request.repeat) for request in self.requests) <= 8:
            return result
        is_candidate = "a" in spec.atoms
        answer = EXPERT if is_candidate else VOUCHER
        values = outcomes.values("answer", Result(answer=answer))
        outcome = ProbeOutcome.CANDIDATE if is_candidate else ProbeOutcome.BASE
        return ProbeResult(
            outcome=outcome,
            value=values["answer"],
            values=values,
            live_calls=1,
            derived=self.passes_code and bool(spec.repeat),
        )


@pytest.mark.parametrize(("passes_code", "confidence"), [(False, "high"), (True, "medium")])
def test_repeats_past_code_limit_the_confidence(*, passes_code: bool, confidence: str) -> None:
    """Such repeats rule chance out only if code does with them what it did in the recording."""
    lab = LearningCode({atoms(): ["B"], atoms("a"): ["A"], atoms("b"): ["B"], atoms("a", "b"): ["A"]})
    lab.passes_code = passes_code
    proof = prove_lab(lab, is_sampled=True)
    assert (proof.primary, proof.confidence) == ([["a"]], confidence)


def test_later_repeats_count_once_the_wording_is_known() -> None:
    """The first four repeats of each side only show the wording."""
    openings = ["Sure. B", "Right. B", "Of course. B", "See. B"]
    lab = LearningCode({atoms(): openings, atoms("a"): ["A"], atoms("b"): ["B"], atoms("a", "b"): openings[::-1]})
    proof = prove_lab(lab, is_sampled=True)
    assert (proof.verdict, proof.primary) == ("single", [["a"]])
    assert proof.noise is not None
    assert (proof.noise.status, proof.noise.base_n, proof.noise.candidate_n) == ("rejected", 6, 6)


def test_word_counts_as_much_as_number() -> None:
    """Code may read the verdict or the number: a change of the number alone does not outrank one of the verdict."""
    lab = Code(
        {
            atoms(): ["With 2 failures, it is good."],
            atoms("a"): ["With 2 failures, it is bad."],
            atoms("b"): ["With 3 failures, it is good."],
            atoms("a", "b"): ["With 3 failures, it is bad."],
        }
    )
    proof = prove_lab(lab)
    assert (proof.verdict, [atom.id for atom in proof.atoms]) == ("inconclusive", ["a", "b"])


def test_first_of_a_ranking_counts_more_than_its_numbers() -> None:
    """Code takes the document with the highest score."""
    lab = Code(
        {
            atoms(): ["old: 6 new: 0 travel: 5"],
            atoms("a"): ["old: 6 new: 0 notice: 7 travel: 1"],
            atoms("b"): ["old: 6 new: 9 travel: 5"],
            atoms("a", "b"): ["old: 6 new: 9 notice: 7 travel: 1"],
        }
    )
    assert [atom.id for atom in prove_lab(lab).atoms] == ["b", "a"]


@pytest.mark.parametrize("mark", ["fails", "echoes"])
def test_undecided_change_with_a_mark_ranks_first(mark: str) -> None:
    """A call that failed on one side only, or a number that recurs in what code made."""
    lab = Code({atoms(): ["B"], atoms("a"): ["C"], atoms("b"): ["C"], atoms("a", "b"): ["A"]})
    assert [atom.id for atom in prove_lab(lab).atoms] == ["a", "b"]
    assert [atom.id for atom in prove_lab(lab, marks={"b": mark}).atoms] == ["b", "a"]


def test_call_repeated_to_the_same_answer_speaks_against_a_change() -> None:
    stray = Stray(step=2, text="first attempt", base="A", candidate="A")
    assert leaning(Space(facts=Facts(), atoms=[]), [stray], "base") < 0


def test_reworded_answers_are_the_same_outcome() -> None:
    """Only similarity can compare such answers, with low confidence."""
    lab = Code(
        {atoms(): ["B"], atoms("a"): ["A"], atoms("a", "b"): ["A"]},
        final={atoms("b"): "Well, the voucher is yours."},
    )
    proof = prove_lab(lab, is_sampled=True)
    assert (proof.question.kind, proof.confidence) == ("answer_alike", "low")
    assert "differ on the way" in proof.assumptions[0]
    by_id = {atom.id: atom for atom in proof.atoms}
    assert by_id["b"].sufficient is False
    assert by_id["a"].necessary is True


def test_different_amounts_outweigh_wording() -> None:
    """Repeats that stray show no wording to expect, so amounts decide where the recorded ones differ."""
    lab = Code(
        {atoms(): ["B"], atoms("a"): ["A"], atoms("a", "b"): ["A"]},
        final={atoms("b"): "Of course. It costs 1560. Have a nice day."},
    )
    proof = prove_lab(
        lab,
        is_sampled=True,
        base_answer="Sure. It costs 1560.",
        candidate_answer="Of course. It costs 1550. Have a nice day.",
    )
    assert (proof.question.kind, proof.confidence) == ("answer_facts", "low")
    assert {atom.id: atom.sufficient for atom in proof.atoms}["b"] is False


class FirstRepeatFinishes(Code):
    """A prober of which one repeat of the base finishes, and the others do not; `stray` if code stops them."""

    answer = ""
    stray = True

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        if spec.repeat == 1 and not spec.atoms:
            values = outcomes.values("answer", Result(answer=self.answer))
            outcome = ProbeOutcome.BASE if self.answer == "It costs 1560." else ProbeOutcome.OTHER
            return ProbeResult(outcome=outcome, value=values["answer"], values=values, live_calls=1)
        result = super().probe(spec, allowance)
        return result if self.stray else replace(result, strays=())


@pytest.mark.parametrize(
    ("answer", "stray", "question"),
    [
        ("Sure. It costs 1560.", True, "answer_facts"),
        ("That is all. It costs 1560.", True, "answer_alike"),
        ("Sure. It costs 1560.", False, "answer_facts"),
        ("It costs 1560.", False, "answer"),
    ],
)
def test_single_repeat_in_other_words_coarsens_the_question(answer: str, question: str, *, stray: bool) -> None:
    """One repeat is too few for a test, but enough to show that equal requests get different answers."""
    lab = FirstRepeatFinishes({atoms(): ["B"], atoms("a"): ["A"]})
    lab.answer, lab.stray = answer, stray
    proof = prove_lab(lab, is_sampled=True, base_answer="It costs 1560.", candidate_answer="It costs 1550.")
    assert proof.question.kind == question


BIKE = [f"{opening} the bike costs 5." for opening in ("sure.", "well.", "thanks.", "see.")]
GIFT = [f"{opening} the bike costs 5 and a gift." for opening in ("here.", "right.", "yes.", "good.")]


@pytest.mark.parametrize(
    ("text", "side"),
    [
        ("so. the bike costs 5.", "base"),
        ("so. the bike costs 5 and a gift.", "candidate"),
        ("so. the car costs 5 and no gift.", "other"),
    ],
)
def test_missing_words_count_as_much(text: str, side: str) -> None:
    assert outcomes.alike(text, BIKE, GIFT) == side


def test_missing_words_need_enough_answers() -> None:
    assert outcomes.alike("so. the bike costs 5.", BIKE[:1], GIFT[:1]) == "other"


def test_contradicting_words_decide_nothing() -> None:
    changed_gifts = [text.replace("5", "8") for text in GIFT]
    assert outcomes.alike("so. the bike costs 5 and a gift.", BIKE, changed_gifts) == "other"
    assert outcomes.alike("so. the bike costs 8 and a gift.", BIKE, changed_gifts) == "candidate"


def test_outcome_outweighs_a_hint() -> None:
    """A change that the candidate's outcome does without is less likely than one whose effect nobody saw."""
    changes = [Atom(id=name, category="prompt", title=name, rank=(rank,)) for rank, name in enumerate("ab")]
    space = Space(facts=Facts(), atoms=changes)
    still = Stray(step=2, text="B", base="B", candidate="A")
    unknown = ProbeResult(outcome=ProbeOutcome.NEEDS_LIVE, missing=UNKNOWN)
    for spec, result in (
        (ProbeSpec(atoms=atoms("b"), side="candidate"), ProbeResult(outcome=ProbeOutcome.CANDIDATE)),
        (ProbeSpec(atoms=atoms("a"), side="base"), unknown),
        (ProbeSpec(atoms=atoms("b"), side="base"), replace(unknown, strays=[still])),
        (ProbeSpec(atoms=atoms("a"), side="candidate"), unknown),
    ):
        space.facts.add(ProbeRequest(spec=spec, purpose="apply"), result)
    assert weight(space, changes[1]) > weight(space, changes[0])
