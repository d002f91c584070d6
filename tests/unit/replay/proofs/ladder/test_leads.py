"""The order of the list while nothing is decided, and answers of models that never repeat their words."""

from collections.abc import Mapping, Sequence

import pytest

from diffing.schemas.evidence import Findings
from replay.proofs.core.types import Allowance, Atom, Atoms, Budget, Case, PathStep, ProbeResult, ProbeSpec, Side, Stray
from replay.proofs.counterfactual import outcomes
from replay.proofs.counterfactual.outcomes import Result
from replay.proofs.evidence.findings import prove

UNKNOWN = "no recording shows what the code makes of it"


class Code:
    """A lab whose probes end before code of the agent, after a first answer of one model."""

    def __init__(self, answers: Mapping[Atoms, Sequence[str]], *, final: Mapping[Atoms, str] | None = None) -> None:
        self.answers, self.final = answers, final or {}
        self.asked: list[ProbeSpec] = []
        self.all = max(answers, key=len)

    def probe(self, ask: ProbeSpec, allowance: Allowance) -> ProbeResult:
        self.asked.append(ask)
        if ask.atoms in self.final and not ask.repeat:
            values = outcomes.values("answer", Result(answer=self.final[ask.atoms]))
            return ProbeResult(outcome="other", value=values["answer"], values=values, live_calls=1)
        texts = self.answers[ask.atoms]
        base, candidate = self.answers[frozenset()][0], self.answers[self.all][0]
        stray = Stray(step=2, text=texts[ask.repeat % len(texts)], base=base, candidate=candidate)
        return ProbeResult(outcome="needs_live", missing=UNKNOWN, strays=[stray], live_calls=1)

    def parts(self, atom: Atom) -> list[Atom]:
        return []

    def path_steps(self, cause: Atoms) -> list[PathStep]:
        return []


def atoms(*names: str) -> frozenset[str]:
    return frozenset(names)


def proved(lab: Code, *, sampled: bool = False) -> Findings:
    changes = [Atom(id=name, category="prompt", title=name, rank=(at,)) for at, name in enumerate(sorted(lab.all))]
    sides: Mapping[Side, str] = {"base": "The voucher is yours.", "candidate": "The expert visits you."}
    case = Case(
        question=outcomes.question("answer", []),
        atoms=changes,
        is_sampled=sampled,
        coarser=outcomes.coarser("answer"),
        values={side: outcomes.values("answer", Result(answer=text)) for side, text in sides.items()},
    )
    return prove(case, lab, Budget(live_calls=None))


def test_nearer_answer_on_the_way_is_listed_first() -> None:
    lab = Code(
        {
            atoms(): ["severity 20"],
            atoms("a"): ["severity 15"],
            atoms("b"): ["severity 65"],
            atoms("a", "b"): ["severity 60"],
        }
    )
    found = proved(lab)
    assert (found.verdict, found.confidence, found.primary) == ("inconclusive", "low", [])
    assert [atom.id for atom in found.atoms] == ["b", "a"]


def test_repeats_tell_wording_from_decision() -> None:
    openings = ("Sure.", "Right, here you are.", "Of course.", "Let me see.", "Thanks.")
    one, other = (
        [f"{opening} Offer {letter} wins." for opening in order]
        for letter, order in (("B", openings), ("C", openings[::-1]))
    )
    lab = Code(
        {
            atoms(): one,
            atoms("a"): ["Thanks. Offer B wins."],
            atoms("b"): ["Sure. Offer C wins."],
            atoms("a", "b"): other,
        }
    )
    found = proved(lab, sampled=True)
    assert [atom.id for atom in found.atoms] == ["b", "a"]
    assert found.confidence == "low"
    assert sum(bool(ask.repeat) for ask in lab.asked) == 8


def test_final_answers_in_new_words_are_not_another_outcome() -> None:
    """Only likeness can compare them, and nothing that comes of it is sure."""
    lab = Code(
        {atoms(): ["B"], atoms("a"): ["A"], atoms("a", "b"): ["A"]},
        final={atoms("b"): "Well, the voucher is yours."},
    )
    found = proved(lab, sampled=True)
    assert (found.question.kind, found.confidence) == ("answer_alike", "low")
    assert "differ on the way" in found.assumptions[0]
    by_id = {atom.id: atom for atom in found.atoms}
    assert by_id["b"].sufficient is False
    assert by_id["a"].necessary is True


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
def test_missing_word_tells_as_much_as_one_that_is_there(text: str, side: str) -> None:
    assert outcomes.alike(text, BIKE, GIFT) == side


def test_few_answers_tell_nothing_by_what_they_lack() -> None:
    assert outcomes.alike("so. the bike costs 5.", BIKE[:1], GIFT[:1]) == "other"


def test_words_that_disagree_leave_a_text_between() -> None:
    both = [text.replace("5", "8") for text in GIFT]
    assert outcomes.alike("so. the bike costs 5 and a gift.", BIKE, both) == "other"
    assert outcomes.alike("so. the bike costs 8 and a gift.", BIKE, both) == "candidate"
