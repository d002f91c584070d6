"""Mediators, the confidence table, and conclusions."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import pytest

from diffing.schemas.evidence import (
    Certificate,
    EvidenceQuestion,
    EvidenceVerdict,
    Findings,
    NoiseGate,
    ProbeOutcome,
    QuestionKind,
)
from diffing.schemas.terms import Confidence, StepRef
from replay.proofs.changes.certificates import valid_for
from replay.proofs.core.types import Allowance, Atom, Atoms, Budget, Case, PathStep, ProbeResult, ProbeSpec
from replay.proofs.evidence.confidence import Grounds, level
from replay.proofs.evidence.findings import prove
from replay.proofs.ladder import noise_gate
from traces.core.vocabulary import Label, StepStatus, StepType


def path_step(number: int) -> PathStep:
    step = StepRef(
        id=UUID(int=number),
        sequence_no=number,
        type=StepType.TOOL,
        name=f"tool {number}",
        summary="",
        status=StepStatus.OK,
        label=Label.EXACT,
        reason="",
    )
    return PathStep(number=number, step=step, text=f"did {number} otherwise")


class Chain:
    """One cause, and steps of which some restore the base's outcome."""

    def __init__(self, count: int, restoring: set[int], needs_live: frozenset[int] = frozenset()) -> None:
        self.count, self.restoring, self.needs_live = count, restoring, needs_live
        self.clamps: list[int] = []

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        if spec.clamp is None:
            return ProbeResult(outcome=ProbeOutcome.CANDIDATE if spec.atoms else ProbeOutcome.BASE)
        self.clamps.append(spec.clamp)
        if spec.clamp in self.needs_live:
            return ProbeResult(outcome=ProbeOutcome.NEEDS_LIVE, missing="a model has to answer")
        return ProbeResult(outcome=ProbeOutcome.BASE if spec.clamp in self.restoring else ProbeOutcome.CANDIDATE)

    def parts(self, atom: Atom) -> Sequence[Atom]:
        return ()

    def path_steps(self, cause: Atoms) -> Sequence[PathStep]:
        return [path_step(number) for number in range(1, self.count + 1)]


def chain_of(lab: Chain) -> list[tuple[int, str, str]]:
    question = EvidenceQuestion(kind="answer", text="the answer")
    case = Case(question=question, atoms=[Atom(id="a", category="prompt", title="Change a")], one_space=True)
    proof = prove(case, lab, Budget())
    assert proof.confidence == "high"
    return [(mediator.step.sequence_no, mediator.role, mediator.evidence) for mediator in proof.mediators]


def test_restoring_steps_span_entry_to_commitment() -> None:
    assert chain_of(Chain(5, {2, 3, 5})) == [
        (2, "entry", "tested"),
        (3, "between", "tested"),
        (5, "commitment", "tested"),
    ]


def test_long_chain_is_bisected() -> None:
    lab = Chain(64, set(range(40, 65)))
    assert chain_of(lab)[0] == (40, "entry", "tested")
    assert len(lab.clamps) < 12
    assert chain_of(lab)[-1] == (64, "commitment", "tested")


class AssumingChain(Chain):
    """After the first steps, a step is assumed to be unaffected by a different answer."""

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        assumed_steps = int(spec.clamp is not None and spec.clamp < 3)
        return replace(super().probe(spec, allowance), assumed_steps=assumed_steps)


def test_step_past_an_assumption_stays_possible() -> None:
    assert chain_of(AssumingChain(4, set())) == [(1, "entry", "inferred"), (2, "commitment", "inferred")]


def test_misleading_bisection_scans_all_steps() -> None:
    lab = Chain(20, {3, 9})
    assert [number for number, *_ in chain_of(lab)] == [3, 9]
    assert sorted(lab.clamps) == list(range(1, 21))


def test_untested_steps_are_inferred() -> None:
    lab = Chain(2, set(), needs_live=frozenset({1, 2}))
    assert chain_of(lab) == [(1, "entry", "inferred"), (2, "commitment", "inferred")]


def gate_of(p: float | None, status: str = "rejected") -> NoiseGate:
    return noise_gate.NOT_NEEDED.model_copy(update={"status": status, "p": p, "base_n": 5, "candidate_n": 5})


FREE, SURE, LIKELY, OPEN = noise_gate.NOT_NEEDED, gate_of(0.008), gate_of(0.03), gate_of(None, "not_run")


@pytest.mark.parametrize(
    ("kind", "gate", "is_enough", "is_needed", "more", "expected"),
    [
        ("single", FREE, True, True, {}, "high"),
        ("single", SURE, True, True, {}, "high"),
        ("single", FREE, True, True, {"new_answer": True}, "medium"),
        ("single", SURE, True, True, {"new_answer": True}, "medium"),
        ("single", SURE, True, True, {"new_answer": True, "repeat_p": 0.004, "apart": True}, "high"),
        ("single", SURE, True, True, {"new_answer": True, "repeat_p": 0.004}, "medium"),
        ("single", SURE, True, True, {"new_answer": True, "repeat_p": 0.02, "apart": True}, "medium"),
        ("single", SURE, True, True, {"borrowed_answer": True}, "medium"),
        ("single", FREE, True, True, {"stand_in": True}, "medium"),
        ("single", LIKELY, True, True, {}, "medium"),
        ("single", FREE, True, None, {}, "medium"),
        ("single", FREE, None, True, {}, "medium"),
        ("single", FREE, None, None, {"left_by_certificates": True}, "medium"),
        ("single", FREE, True, True, {"finished": False}, "low"),
        ("single", OPEN, True, True, {}, "low"),
        ("joint", FREE, True, True, {}, "medium"),
        ("over_determined", FREE, True, False, {}, "medium"),
        ("inconclusive", FREE, None, None, {}, "low"),
        ("noise", gate_of(0.6, "not_rejected"), None, None, {}, "noise"),
        ("no_effect", FREE, None, None, {}, "noise"),
    ],
)
def test_confidence_follows_the_table(
    kind: EvidenceVerdict,
    gate: NoiseGate,
    is_enough: bool | None,
    is_needed: bool | None,
    more: dict[str, float],
    expected: Confidence,
) -> None:
    grounds = Grounds(verdict=kind, gate=gate, is_enough=is_enough, is_needed=is_needed, **more)  # type: ignore[arg-type]  # fields of the grounds
    assert level(grounds).confidence == expected
    assert level(grounds).rule


class Borrowing(Chain):
    """One cause; every probe of the base uses a tool's answer that only the candidate recorded."""

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        result = super().probe(spec, allowance)
        return replace(result, borrowed_answers=1) if spec.side == "base" else result


@pytest.mark.parametrize(("fork", "expected"), [(True, "high"), (False, "medium")])
def test_borrowed_tool_answer_limits_confidence(*, fork: bool, expected: Confidence) -> None:
    """A fork shares the environment of its source; two separate recordings each have their own."""
    case = Case(
        question=EvidenceQuestion(kind="answer", text=""),
        one_space=fork,
        atoms=[Atom(id="a", category="prompt", title="The prompt")],
    )
    proof = prove(case, Borrowing(0, set()), Budget())
    assert (proof.verdict, proof.confidence) == ("single", expected)
    assert any("would get the same answer in the other" in line for line in proof.assumptions)


class SampledSides:
    """A prober whose sides repeat as configured, and whose one change is the cause."""

    def __init__(self, *, base: str = "base", candidate: str = "candidate") -> None:
        self.sides = {"base": base, "candidate": candidate}
        self.requests: list[ProbeSpec] = []

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        self.requests.append(spec)
        if allowance.live_calls == 0:
            return ProbeResult(outcome=ProbeOutcome.NEEDS_LIVE)
        outcome = self.sides["candidate" if spec.atoms else "base"]
        return ProbeResult(
            outcome=ProbeOutcome.CANDIDATE if outcome == ProbeOutcome.CANDIDATE else ProbeOutcome.BASE, live_calls=1
        )

    def parts(self, atom: Atom) -> Sequence[Atom]:
        return ()

    def path_steps(self, cause: Atoms) -> Sequence[PathStep]:
        return ()


def by_chance(lab: SampledSides, atoms: Sequence[Atom], *, live_calls: int) -> Findings:
    question = EvidenceQuestion(kind="answer", text="the answer")
    case = Case(question=question, atoms=atoms, is_sampled=True, chance="both runs are tries at task 7")
    return prove(case, lab, Budget(live_calls=live_calls))


WORDS = Atom(id="words", category="upstream", title="Changing the user's message")


def test_unchanged_configuration_is_noise_without_probes() -> None:
    lab = SampledSides()
    proof = by_chance(lab, [], live_calls=100)
    assert (proof.verdict, proof.confidence, proof.primary, lab.requests) == ("noise", "noise", [], [])
    assert proof.conclusion == "The difference is chance: both runs are tries at task 7."
    assert proof.rule == "No recorded change separates the two runs."
    assert (proof.noise.status, proof.noise.reason) == ("not_needed", "both runs are tries at task 7")


def test_missing_repeats_leave_the_verdict_noise() -> None:
    proof = by_chance(SampledSides(), [WORDS], live_calls=0)
    assert (proof.verdict, proof.confidence, proof.cheapest_experiment) == ("noise", "noise", None)


def test_distinct_repeats_overrule_the_certificate() -> None:
    proof = by_chance(SampledSides(), [WORDS], live_calls=1000)
    assert (proof.verdict, proof.primary, proof.noise.status) == ("single", [["words"]], "rejected")
    assert by_chance(SampledSides(candidate="base"), [WORDS], live_calls=1000).noise.status == "not_rejected"


@pytest.mark.parametrize(("kind", "expected_kinds"), [("answer", {"inert", "unreached"}), ("tool_calls", {"inert"})])
def test_path_certificates_apply_to_answer_questions(kind: QuestionKind, expected_kinds: set[str]) -> None:
    atoms = [
        Atom(id="a", category="tool", title="A", certificate=Certificate(kind="inert", reason="the same")),
        Atom(id="b", category="tool", title="B", certificate=Certificate(kind="unreached", reason="no way")),
    ]
    certified_atoms = valid_for(atoms, kind)
    assert [atom.id for atom in certified_atoms] == ["a", "b"]
    assert {atom.certificate.kind for atom in certified_atoms if atom.certificate is not None} == expected_kinds
