"""Mediators, confidence by the table, and what is said."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import pytest

from diffing.schemas.evidence import Certificate, EvidenceQuestion, EvidenceVerdict, Findings, NoiseGate, QuestionKind
from diffing.schemas.terms import Confidence, StepRef
from replay.proofs.changes.certificates import valid_for
from replay.proofs.core.types import Allowance, Atom, Atoms, Budget, Case, PathStep, ProbeResult, ProbeSpec
from replay.proofs.evidence.confidence import Grounds, level
from replay.proofs.evidence.findings import prove
from replay.proofs.ladder import noise_gate
from traces.core.vocabulary import Label, StepStatus, StepType


def stage(number: int) -> PathStep:
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
    """One cause, and stages of which some bring the old outcome back."""

    def __init__(self, count: int, restoring: set[int], needs_live: frozenset[int] = frozenset()) -> None:
        self.count, self.restoring, self.needs_live = count, restoring, needs_live
        self.clamped: list[int] = []

    def probe(self, ask: ProbeSpec, allowance: Allowance) -> ProbeResult:
        if ask.clamp is None:
            return ProbeResult(outcome="candidate" if ask.atoms else "base")
        self.clamped.append(ask.clamp)
        if ask.clamp in self.needs_live:
            return ProbeResult(outcome="needs_live", missing="a model has to answer")
        return ProbeResult(outcome="base" if ask.clamp in self.restoring else "candidate")

    def parts(self, atom: Atom) -> Sequence[Atom]:
        return ()

    def path_steps(self, cause: Atoms) -> Sequence[PathStep]:
        return [stage(number) for number in range(1, self.count + 1)]


def told(lab: Chain) -> list[tuple[int, str, str]]:
    question = EvidenceQuestion(kind="answer", text="the answer")
    case = Case(question=question, atoms=[Atom(id="a", category="prompt", title="Change a")], one_space=True)
    found = prove(case, lab, Budget())
    assert found.confidence == "high"
    return [(one.step.sequence_no, one.role, one.evidence) for one in found.mediators]


def test_the_first_step_that_restores_is_the_entry_and_the_last_the_commitment() -> None:
    assert told(Chain(5, {2, 3, 5})) == [(2, "entry", "tested"), (3, "between", "tested"), (5, "commitment", "tested")]


def test_of_many_steps_in_one_chain_few_are_tried() -> None:
    lab = Chain(64, set(range(40, 65)))
    assert told(lab)[0] == (40, "entry", "tested")
    assert len(lab.clamped) < 12
    assert told(lab)[-1] == (64, "commitment", "tested")


class AssumingChain(Chain):
    """After the first stages, steps are taken to be unaffected by another answer."""

    def probe(self, ask: ProbeSpec, allowance: Allowance) -> ProbeResult:
        assumed = int(ask.clamp is not None and ask.clamp < 3)
        return replace(super().probe(ask, allowance), assumed_steps=assumed)


def test_stage_past_an_assumed_step_is_not_ruled_out() -> None:
    assert told(AssumingChain(4, set())) == [(1, "entry", "inferred"), (2, "commitment", "inferred")]


def test_where_halving_would_mislead_all_are_tried() -> None:
    lab = Chain(20, {3, 9})
    assert [number for number, *_ in told(lab)] == [3, 9]
    assert sorted(lab.clamped) == list(range(1, 21))


def test_steps_that_could_not_be_tried_are_inferred() -> None:
    lab = Chain(2, set(), needs_live=frozenset({1, 2}))
    assert told(lab) == [(1, "entry", "inferred"), (2, "commitment", "inferred")]


def gated(p: float | None, status: str = "rejected") -> NoiseGate:
    return noise_gate.NOT_NEEDED.model_copy(update={"status": status, "p": p, "base_n": 5, "candidate_n": 5})


FREE, SURE, LIKELY, OPEN = noise_gate.NOT_NEEDED, gated(0.008), gated(0.03), gated(None, "not_run")


@pytest.mark.parametrize(
    ("kind", "given", "enough", "needed", "more", "expected"),
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
        ("noise", gated(0.6, "not_rejected"), None, None, {}, "noise"),
        ("no_effect", FREE, None, None, {}, "noise"),
    ],
)
def test_confidence_follows_the_table(
    kind: EvidenceVerdict,
    given: NoiseGate,
    enough: bool | None,
    needed: bool | None,
    more: dict[str, float],
    expected: Confidence,
) -> None:
    grounds = Grounds(verdict=kind, gate=given, is_enough=enough, is_needed=needed, **more)  # type: ignore[arg-type]  # fields of the grounds
    assert level(grounds).confidence == expected
    assert level(grounds).rule


class Borrowing(Chain):
    """One cause; every probe of the base takes a tool's answer that only the candidate recorded."""

    def probe(self, ask: ProbeSpec, allowance: Allowance) -> ProbeResult:
        seen = super().probe(ask, allowance)
        return replace(seen, borrowed_answers=1) if ask.side == "base" else seen


@pytest.mark.parametrize(("fork", "expected"), [(True, "high"), (False, "medium")])
def test_a_tools_answer_of_another_recording_is_no_full_proof(*, fork: bool, expected: Confidence) -> None:
    """A fork has the world of its source; of two separate recordings each has a world of its own."""
    case = Case(
        question=EvidenceQuestion(kind="answer", text=""),
        one_space=fork,
        atoms=[Atom(id="a", category="prompt", title="The prompt")],
    )
    found = prove(case, Borrowing(0, set()), Budget())
    assert (found.verdict, found.confidence) == ("single", expected)
    assert any("would get the same answer in the other" in line for line in found.assumptions)


class Sampled:
    """A lab in which both sides repeat as they are told, and the one change is the cause."""

    def __init__(self, *, base: str = "base", candidate: str = "candidate") -> None:
        self.sides = {"base": base, "candidate": candidate}
        self.asked: list[ProbeSpec] = []

    def probe(self, ask: ProbeSpec, allowance: Allowance) -> ProbeResult:
        self.asked.append(ask)
        if allowance.live_calls == 0:
            return ProbeResult(outcome="needs_live")
        said = self.sides["candidate" if ask.atoms else "base"]
        return ProbeResult(outcome="candidate" if said == "candidate" else "base", live_calls=1)

    def parts(self, atom: Atom) -> Sequence[Atom]:
        return ()

    def path_steps(self, cause: Atoms) -> Sequence[PathStep]:
        return ()


def by_chance(lab: Sampled, atoms: Sequence[Atom], *, live_calls: int) -> Findings:
    question = EvidenceQuestion(kind="answer", text="the answer")
    case = Case(question=question, atoms=atoms, is_sampled=True, chance="both runs are tries at task 7")
    return prove(case, lab, Budget(live_calls=live_calls))


WORDS = Atom(id="words", category="upstream", title="Changing the user's message")


def test_where_nobody_changed_anything_it_is_noise_without_a_probe() -> None:
    lab = Sampled()
    found = by_chance(lab, [], live_calls=100)
    assert (found.verdict, found.confidence, found.primary, lab.asked) == ("noise", "noise", [], [])
    assert found.conclusion == "Chance made the difference: both runs are tries at task 7."
    assert found.rule == "No recorded change separates the two runs."
    assert (found.noise.status, found.noise.reason) == ("not_needed", "both runs are tries at task 7")


def test_repeats_that_cannot_be_made_leave_it_at_noise() -> None:
    found = by_chance(Sampled(), [WORDS], live_calls=0)
    assert (found.verdict, found.confidence, found.cheapest_experiment) == ("noise", "noise", None)


def test_repeats_that_tell_the_sides_apart_win_over_the_certificate() -> None:
    found = by_chance(Sampled(), [WORDS], live_calls=1000)
    assert (found.verdict, found.primary, found.noise.status) == ("single", [["words"]], "rejected")
    assert by_chance(Sampled(candidate="base"), [WORDS], live_calls=1000).noise.status == "not_rejected"


@pytest.mark.parametrize(("kind", "kept"), [("answer", {"inert", "unreached"}), ("tool_calls", {"inert"})])
def test_a_certificate_about_ways_to_the_answer_says_nothing_about_other_questions(
    kind: QuestionKind, kept: set[str]
) -> None:
    atoms = [
        Atom(id="a", category="tool", title="A", certificate=Certificate(kind="inert", reason="the same")),
        Atom(id="b", category="tool", title="B", certificate=Certificate(kind="unreached", reason="no way")),
    ]
    held = valid_for(atoms, kind)
    assert [atom.id for atom in held] == ["a", "b"]
    assert {atom.certificate.kind for atom in held if atom.certificate is not None} == kept
