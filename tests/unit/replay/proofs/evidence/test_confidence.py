"""Confidence of a change of which only one direction could be tested."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import pytest

from diffing.schemas.evidence import ProbeOutcome
from replay.proofs.core.types import Allowance, Atom, Budget, Case, PathStep, ProbeResult, ProbeSpec, Side
from replay.proofs.evidence.findings import prove
from tests.support.ladder_truths import QUESTION

_ANSWERS: Final[Mapping[Side, str]] = {"base": "BAUM", "candidate": "Mast"}


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


class Capitals:
    """A prober with one cause, whose replays give the candidate's answer in this form."""

    def __init__(self, form: str) -> None:
        self.form = form

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        is_candidate = "a" in spec.atoms
        form = self.form if is_candidate else "BAUM"
        outcome = ProbeOutcome.CANDIDATE if is_candidate else ProbeOutcome.BASE
        return ProbeResult(outcome=outcome, values={"answer": form.casefold(), "answer_exact": form})

    def parts(self, atom: Atom) -> list[Atom]:
        return []

    def path_steps(self, cause: frozenset[str]) -> list[PathStep]:
        return []


class PastCode(Capitals):
    """The same, on the assumption that the agent's code does what it did in the other run."""

    def __init__(self, form: str, *, is_derived: bool) -> None:
        super().__init__(form)
        self.is_derived = is_derived

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        return replace(super().probe(spec, allowance), derived=self.is_derived)


@pytest.mark.parametrize(
    ("lacks_models", "lacks_lookups", "is_derived", "confidence"),
    [
        (True, False, False, "low"),
        (False, True, True, "low"),
        (False, True, False, "high"),
        (False, False, True, "medium"),
    ],
)
def test_run_with_less_detail_shows_no_certain_cause(
    lacks_models: bool, lacks_lookups: bool, is_derived: bool, confidence: str
) -> None:
    changes = [Atom(id=name, category="prompt", title=name) for name in ("a", "b")]
    case = Case(question=QUESTION, atoms=changes, lacks_models=lacks_models, lacks_lookups=lacks_lookups)
    proof = prove(case, PastCode("Mast", is_derived=is_derived), Budget(probes=50))
    assert (proof.primary, proof.confidence) == ([["a"]], confidence)
    assert ("records less" in proof.rule) is (confidence == "low")


@pytest.mark.parametrize(
    ("is_derived", "has_own_words", "same_code", "confidence"),
    [
        (True, True, False, "low"),
        (True, True, True, "medium"),
        (True, False, False, "medium"),
        (False, True, False, "high"),
    ],
)
def test_words_that_code_chose_may_come_from_another_version_of_it(
    is_derived: bool, has_own_words: bool, same_code: bool, confidence: str
) -> None:
    changes = [Atom(id=name, category="prompt", title=name) for name in ("a", "b")]
    note = Atom(
        id="note", category="upstream", title="note", why_not="code", is_relay=True, has_own_words=has_own_words
    )
    case = Case(question=QUESTION, atoms=[*changes, note], same_code=same_code)
    proof = prove(case, PastCode("Mast", is_derived=is_derived), Budget(probes=50))
    assert (proof.primary, proof.confidence) == ([["a"]], confidence)
    assert ("only if the agent's code is the same" in proof.rule) is (confidence == "low")


@pytest.mark.parametrize(("form", "confidence"), [("Mast", "high"), ("MAST", "medium")])
def test_answer_in_other_capitals_is_not_fully_explained(form: str, confidence: str) -> None:
    changes = [Atom(id=name, category="prompt", title=name) for name in ("a", "b")]
    values = {side: {"answer": text.casefold(), "answer_exact": text} for side, text in _ANSWERS.items()}
    proof = prove(Case(question=QUESTION, atoms=changes, values=values), Capitals(form), Budget(probes=50))
    assert (proof.primary, proof.confidence) == ([["a"]], confidence)
    assert ("case or spacing" in proof.rule) is (confidence == "medium")
