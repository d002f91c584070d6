"""Two differences that code made may be one change of it, so the later one is not certain to be a cause of its own."""

from dataclasses import replace

import pytest

from diffing.report.examination import examine
from diffing.schemas.evidence import ProbeOutcome
from replay.proofs.changes.roots import roots
from replay.proofs.core.types import Allowance, Atom, Budget, Case, PathStep, ProbeResult, ProbeSpec
from replay.proofs.evidence.findings import prove
from tests.support.comparing import Spec, Store, model, output, reply, side_of, system, user
from tests.support.ladder_truths import QUESTION
from traces.core.vocabulary import StepType

LETTER = "Please send my parcel to Oslo."


def parcel_run(weight: str, total: str, *, letter: str = LETTER) -> list[Spec]:
    """Code weighs a parcel, asks for its class, and composes the price for a writer."""
    return [
        Spec(type=StepType.AGENT, name="agent", input={"task": letter}),
        model([system("Read."), user(letter)], reply("a parcel to Oslo")),
        model([system("Sort."), user(f"Weight: {weight} kg")], reply("medium")),
        model([system("Write."), user(f"Total: {total} eur")], reply(f"It costs {total} eur.")),
        output(f"It costs {total} eur."),
    ]


def atoms(base: list[Spec], candidate: list[Spec]) -> list[Atom]:
    store = Store()
    examination = examine(
        side_of(base, store),
        side_of(candidate, store),
        lambda refs: {ref: store.values[ref] for ref in refs if ref in store.values},
    )
    found = [change.atom for change in roots(examination)]
    return sorted(found, key=lambda atom: atom.base.sequence_no if atom.base is not None else 0)


def test_a_later_difference_made_by_code_may_follow_from_an_earlier_one() -> None:
    changes = atoms(parcel_run("6.3", "18.45"), parcel_run("7.9", "20.85"))
    assert [(atom.title, atom.testable, atom.has_common_origin) for atom in changes] == [
        ("Changing “6.3” to “7.9” in the user's message", True, False),
        ("Changing “18.45” to “20.85” in the user's message", True, True),
    ]


def test_code_may_have_asked_another_agent() -> None:
    def run(*agents: str) -> list[Spec]:
        lines = ["The opera opens.", "The trams run late.", "The ports are full."]
        steps = [
            replace(model([system(f"You are the {name} reporter."), user(text)], reply(f"{text} {name}")), name=name)
            for name, text in zip(agents, lines, strict=True)
        ]
        return [Spec(type=StepType.AGENT, name="agent"), *steps, output("The page is done.")]

    [change] = atoms(run("first", "second", "first"), run("first", "first", "first"))
    assert (change.category, change.testable, change.has_common_origin) == ("prompt", True, True)


def test_the_input_of_the_run_is_not_made_by_code() -> None:
    changes = atoms(parcel_run("6.3", "18.45"), parcel_run("6.3", "20.85", letter=f"{LETTER} Thanks."))
    assert [atom.has_common_origin for atom in changes] == [False, False]


class LastChange:
    """A prober that finds the last change to be enough and needed."""

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        return ProbeResult(outcome=ProbeOutcome.CANDIDATE if "total" in spec.atoms else ProbeOutcome.BASE)

    def parts(self, atom: Atom) -> list[Atom]:
        return []

    def path_steps(self, cause: frozenset[str]) -> list[PathStep]:
        return []


@pytest.mark.parametrize(("has_common_origin", "confidence"), [(False, "high"), (True, "medium")])
def test_a_cause_that_may_follow_from_another_change_is_not_certain(has_common_origin: bool, confidence: str) -> None:
    changes = [
        Atom(id="weight", category="upstream", title="weight"),
        Atom(id="total", category="upstream", title="total", has_common_origin=has_common_origin),
    ]
    proof = prove(Case(question=QUESTION, atoms=changes), LastChange(), Budget(probes=50))
    assert (proof.primary, proof.confidence) == ([["total"]], confidence)
