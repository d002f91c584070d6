"""The question that a proof compares: finer for case, coarser for wording, and never chance where it sees nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from diffing.schemas.evidence import Findings, ProbeOutcome
from replay.proofs.core.types import Allowance, Atom, Atoms, Budget, Case, PathStep, ProbeResult, ProbeSpec, Side, Stray
from replay.proofs.counterfactual import outcomes
from replay.proofs.counterfactual.outcomes import Result
from replay.proofs.evidence.findings import prove

RECORDINGS: dict[Side, str] = {"base": "Accepted with 2 findings.", "candidate": "Accepted."}
CODE = ProbeResult(
    outcome=ProbeOutcome.NEEDS_LIVE, missing="code", strays=[Stray(step=2, text="x", base="y", candidate="z")]
)


@dataclass
class Script:
    """A prober with one change: repeats answer as in the script; None: only the agent's code knows how to continue."""

    repeats: dict[Side, Sequence[str | None]]
    recordings: dict[Side, str] = field(default_factory=lambda: RECORDINGS)

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        side: Side = "candidate" if spec.atoms else "base"
        answers = self.repeats.get(side, ())
        answer = answers[spec.repeat - 1] if 0 < spec.repeat <= len(answers) else self.recordings[side]
        if answer is None:
            return CODE
        values = outcomes.values("answer", Result(answer=answer))
        base, candidate = (self.values(side)["answer"] for side in ("base", "candidate"))
        outcome = outcomes.classify(values["answer"], base=base, candidate=candidate)
        return ProbeResult(outcome=outcome, value=values["answer"], values=values, live_calls=1)

    def values(self, side: Side) -> dict[str, str]:
        return outcomes.values("answer", Result(answer=self.recordings[side]))

    def parts(self, atom: Atom) -> list[Atom]:
        return []

    def path_steps(self, cause: Atoms) -> list[PathStep]:
        return []


def prove_script(script: Script) -> Findings:
    case = Case(
        question=outcomes.question("answer", []),
        atoms=[Atom(id="a", category="prompt", title="Change a")],
        is_sampled=True,
        one_space=True,
        coarser=outcomes.coarser("answer"),
        values={"base": script.values("base"), "candidate": script.values("candidate")},
    )
    return prove(case, script, Budget(live_calls=None))


@pytest.mark.parametrize(
    ("candidate", "kind"),
    [("BAUM and KIEL", "answer_exact"), ("Baum  and Kiel\n", "answer"), ("Baum or Kiel", "answer")],
)
def test_answers_that_differ_in_case_are_compared_exactly(candidate: str, kind: str) -> None:
    question = outcomes.question("answer", [])
    assert outcomes.separating(question, Result(answer="Baum and Kiel"), Result(answer=candidate)).kind == kind


def test_question_about_status_stays() -> None:
    question = outcomes.question("status", [])
    assert outcomes.separating(question, Result(answer="Kiel"), Result(answer="KIEL")) is question


def test_ruled_out_chance_keeps_the_question() -> None:
    """A later repeat that does not end is no reason to ask a coarser question, under which less is seen."""
    own, other = RECORDINGS["base"], "Rejected because of main."
    script = Script(
        {
            "base": [own, other, own, other, other, own, None],
            "candidate": [RECORDINGS["candidate"], other, *[RECORDINGS["candidate"]] * 8],
        }
    )
    findings = prove_script(script)
    assert (findings.question.kind, findings.verdict) == ("answer", "single")


def test_unlike_repeats_are_no_evidence_of_chance() -> None:
    """Under similarity, repeats that resemble neither side share no outcome unless they are the same text."""
    base, candidate = ("ada", "bo", "cleo", "dan", "eva", "finn"), ("gus", "ines", "jo", "kai", "lea", "mo")
    findings = prove_script(Script({"base": base, "candidate": candidate}))
    assert (findings.question.kind, findings.verdict) == ("answer_alike", "inconclusive")
    assert prove_script(Script({"base": base, "candidate": base[::-1]})).verdict == "noise"


def test_mark_after_a_word_distinguishes_reworded_answers() -> None:
    openings = ("Sure.", "Right.", "Well then,", "Let me see.", "Good.")
    base = [f"{opening} a nova near lyra." for opening in openings]
    candidate = [f"{opening} a nova near lyra!" for opening in openings]
    assert outcomes.alike("thanks. a nova near lyra!", base, candidate) == "candidate"
    assert outcomes.alike("thanks. a nova near lyra.", base, candidate) == "base"


@pytest.mark.parametrize(
    ("answers", "kind"),
    [
        (("That is all: an omelette.", "A roast chicken."), "answer_alike"),
        (("That is all: 42 euros.", "It costs 15 euros."), "answer_facts"),
    ],
)
def test_words_of_quantity_are_no_facts_without_repeats(answers: tuple[str, str], kind: str) -> None:
    script = Script({"base": [None] * 10, "candidate": [None] * 10}, {"base": answers[0], "candidate": answers[1]})
    assert prove_script(script).question.kind == kind
