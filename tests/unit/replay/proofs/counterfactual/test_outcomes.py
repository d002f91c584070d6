"""Questions: coarser ones if repeats disagree, and noise only if the sides overlap."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from diffing.schemas.evidence import Findings, ProbeOutcome
from replay.proofs.core.types import Allowance, Atom, Atoms, Budget, Case, PathStep, ProbeResult, ProbeSpec, Side
from replay.proofs.counterfactual import outcomes
from replay.proofs.counterfactual.model_substitutes import ServedModel, substitution
from replay.proofs.counterfactual.outcomes import Result
from replay.proofs.evidence.findings import prove

OPENINGS = ("Sure.", "Of course.", "Right away.", "Let me see.", "Thanks.", "Well.", "Good day.", "Here you are.")
ENDINGS = ("Bye.", "I hope this helps.", "Ask me again.", "Have a nice day.", "Take care.", "Yours truly.", "Anyway.")


def reword(fact: str, number: int) -> str:
    """The same fact in different words each time."""
    return f"{OPENINGS[number % len(OPENINGS)]} {fact} {ENDINGS[number % len(ENDINGS)]}"


class Rewording:
    """A prober whose one change decides the fact; every answer has different wording."""

    def __init__(self, base: Sequence[str], candidate: Sequence[str]) -> None:
        self.facts = {"base": base, "candidate": candidate}
        self.draw_count = 0

    def recorded_answer(self, side: str) -> str:
        return reword(self.facts[side][0], 3 if side == "base" else 5)

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        self.draw_count += 1
        facts = self.facts["candidate" if spec.atoms else "base"]
        values = outcomes.values("answer", Result(answer=reword(facts[self.draw_count % len(facts)], self.draw_count)))
        base, candidate = (
            outcomes.values("answer", Result(answer=self.recorded_answer(side)))["answer"] for side in self.facts
        )
        outcome = outcomes.classify(values["answer"], base=base, candidate=candidate)
        return ProbeResult(outcome=outcome, value=values["answer"], values=values, live_calls=1)

    def parts(self, atom: Atom) -> list[Atom]:
        return []

    def path_steps(self, cause: Atoms) -> list[PathStep]:
        return []


def prove_lab(lab: Rewording) -> Findings:
    case = Case(
        question=outcomes.question("answer", []),
        atoms=[Atom(id="a", category="prompt", title="Change a")],
        is_sampled=True,
        one_space=True,
        coarser=outcomes.coarser("answer"),
        values={
            side: outcomes.values("answer", Result(answer=lab.recorded_answer(side))) for side in ("base", "candidate")
        },
    )
    return prove(case, lab, Budget(live_calls=None))


@pytest.mark.parametrize(
    ("facts", "kind"),
    [
        (("The fee is 42 euros.", "The fee is 15 euros."), "answer_facts"),
        (("We mend the lamp.", "We refund the invoice."), "answer_alike"),
    ],
)
def test_reworded_decision_is_not_noise(facts: tuple[str, str], kind: str) -> None:
    proof = prove_lab(Rewording(facts[:1], facts[1:]))
    assert (proof.verdict, proof.confidence, proof.question.kind) == ("single", "high", kind)
    assert "The finer question is `answer`" in proof.assumptions[0]
    assert "measures wording" in proof.assumptions[0]


class Synonyms(Rewording):
    """Each side makes one decision, for which it has a new word each time."""

    words = {
        "base": ("declined", "rejected", "refused", "denied", "dismissed", "turned down", "withheld"),
        "candidate": ("approved", "granted", "accepted", "allowed", "permitted", "given", "agreed"),
    }

    def __init__(self) -> None:
        super().__init__(self.words["base"], self.words["candidate"])


def test_answers_that_resemble_neither_recording_are_not_noise() -> None:
    """Nothing that was compared shows that the sides ever decide the same."""
    proof = prove_lab(Synonyms())
    assert (proof.verdict, proof.confidence) == ("inconclusive", "low")
    assert "The comparison measures wording" in proof.conclusion


def test_decisions_mixed_in_many_words_are_noise() -> None:
    """No words distinguish the sides, but their facts coincide."""
    facts = [f"The fee is {fee} euros {word}." for fee in (42, 15) for word in ("today", "net", "flat")]
    proof = prove_lab(Rewording(facts, [*facts[3:], *facts[:3]]))
    assert (proof.verdict, proof.question.kind) == ("noise", "answer_facts")


@pytest.mark.parametrize("steady", ["base", "candidate"])
def test_wording_of_one_side_is_no_decision(steady: str) -> None:
    proof = prove_lab(OneSided(["The fee is 42 euros."], ["The fee is 15 euros."], steady))
    assert (proof.verdict, proof.confidence, proof.question.kind) == ("single", "high", "answer_facts")
    other = "candidate" if steady == "base" else "base"
    assert f"Repeats of the unchanged {other} differ" in proof.assumptions[0]


class OneSided(Rewording):
    """One side always answers in the same words, for example at temperature 0."""

    def __init__(self, base: Sequence[str], candidate: Sequence[str], steady: str) -> None:
        super().__init__(base, candidate)
        self.steady = steady

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        result = super().probe(spec, allowance)
        if self.steady != ("candidate" if spec.atoms else "base"):
            return result
        values = outcomes.values("answer", Result(answer=self.recorded_answer(self.steady)))
        return replace(result, outcome=ProbeOutcome(self.steady), value=values["answer"], values=values)


def test_wording_of_order_is_no_fact() -> None:
    answers = ("Refunded 42 EUR before the next statement.", "42 EUR refunded; first see your statement.", "0 refunded")
    first, reworded, other = (
        outcomes.values("answer_facts", Result(answer=answer))["answer_facts"] for answer in answers
    )
    assert first == reworded != other


def test_decisions_mixed_on_both_sides_are_noise() -> None:
    facts = ("The fee is 42 euros.", "The fee is 15 euros.")
    proof = prove_lab(Rewording(facts, facts[::-1]))
    assert (proof.verdict, proof.primary) == ("noise", [])


class Unlike(Rewording):
    """Answers that never repeat, with no coarser values."""

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        self.draw_count += 1
        return ProbeResult(outcome=ProbeOutcome.OTHER, value=f"answer {self.draw_count}", live_calls=1)


def test_disjoint_answers_are_not_noise() -> None:
    proof = prove_lab(Unlike(["x"], ["y"]))
    assert (proof.verdict, proof.confidence) == ("inconclusive", "low")
    assert "The comparison measures wording" in proof.conclusion


def test_similarity_counts_only_distinguishing_words() -> None:
    base, candidate = (
        ["sure. we mend the lamp.", "well. we mend it."],
        ["sure. we refund the invoice.", "we refund it."],
    )
    assert outcomes.alike("well. the lamp is what we mend.", base, candidate) == "base"
    assert outcomes.alike("sure, a refund it is: we refund.", base, candidate) == "candidate"
    assert outcomes.alike("nothing of that.", base, candidate) == "other"


def test_weak_words_do_not_outvote_the_decision() -> None:
    base = ["so sure on friday.", "so sure on friday.", "well on friday."]
    candidate = ["well on sunday.", "well on sunday.", "so sure on sunday."]
    assert outcomes.alike("so sure it is on sunday.", [*base, "so sure on friday."], candidate) == "candidate"
    assert outcomes.alike("well, it is on friday.", base, [*candidate, "well on sunday."]) == "base"


class SwappedSides(Rewording):
    """Repeats of the base match the candidate's recording; those of the candidate match neither."""

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        return ProbeResult(
            outcome=ProbeOutcome.OTHER if spec.atoms else ProbeOutcome.CANDIDATE, value="x", live_calls=1
        )


def test_repeats_matching_the_other_side_show_no_effect() -> None:
    proof = prove_lab(SwappedSides(["x"], ["y"]))
    assert (proof.verdict, proof.primary, proof.noise.status) == ("noise", [], "not_rejected")


class RenamedTool:
    """Two separate recordings: the renamed tool answers with the candidate's recorded answer."""

    def __init__(self, *, borrowed_answers: int) -> None:
        self.borrowed_answers = borrowed_answers

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        return ProbeResult(
            outcome=ProbeOutcome.CANDIDATE if spec.atoms else ProbeOutcome.BASE, borrowed_answers=self.borrowed_answers
        )

    def parts(self, atom: Atom) -> list[Atom]:
        return []

    def path_steps(self, cause: Atoms) -> list[PathStep]:
        return []


@pytest.mark.parametrize(("borrowed_answers", "sufficient"), [(1, None), (0, True)])
def test_renamed_tool_with_borrowed_data_is_insufficient(borrowed_answers: int, *, sufficient: bool | None) -> None:
    renaming = Atom(id="tools", category="prompt", title="Renaming the tool", rekeys=True)
    proof = prove(
        Case(question=outcomes.question("answer", []), atoms=[renaming]),
        RenamedTool(borrowed_answers=borrowed_answers),
        Budget(),
    )
    assert proof.atoms[0].sufficient is sufficient
    assert (proof.verdict, proof.confidence) == ("single", "high" if sufficient else "medium")


class Powerless(RenamedTool):
    """No change has an effect."""

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        return ProbeResult(outcome=ProbeOutcome(spec.side))


@pytest.mark.parametrize(("has_untestable", "is_claimed"), [(False, True), (True, False)])
def test_unrecorded_cause_needs_every_change_applied(*, has_untestable: bool, is_claimed: bool) -> None:
    atoms = [Atom(id="a", category="prompt", title="Change a")]
    atoms += [Atom(id="b", category="upstream", title="The reply", why_not="code made it")] if has_untestable else []
    proof = prove(Case(question=outcomes.question("answer", []), atoms=atoms), Powerless(borrowed_answers=0), Budget())
    assert ("the cause was not recorded" in proof.conclusion) is is_claimed
    assert ("the reply" in proof.conclusion) is has_untestable


def test_cause_after_a_changed_output_is_never_high() -> None:
    reply = Atom(id="reply", category="upstream", title="Changing the reply", follows=True)
    proof = prove(
        Case(question=outcomes.question("answer", []), atoms=[reply]), RenamedTool(borrowed_answers=0), Budget()
    )
    assert (proof.verdict, proof.confidence) == ("single", "medium")
    assert "may be a response" in proof.rule


class DerivedCode(RenamedTool):
    """Probes take what the agent's code does from the other recording."""

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        return ProbeResult(outcome=ProbeOutcome.CANDIDATE if spec.atoms else ProbeOutcome.BASE, derived=True)


def test_cause_behind_unrecorded_code_is_never_high() -> None:
    prompt = Atom(id="p", category="prompt", title="Changing the router's prompt")
    proof = prove(
        Case(question=outcomes.question("answer", []), atoms=[prompt]), DerivedCode(borrowed_answers=0), Budget()
    )
    assert (proof.verdict, proof.confidence) == ("single", "medium")
    assert "code ran in between" in proof.rule
    assert any("derives the same from equal answers" in line for line in proof.assumptions)


class Assuming(RenamedTool):
    """Probes pass a step that is assumed to be unaffected; the changes have an effect, or none."""

    def __init__(self, *, effect: bool) -> None:
        self.effect = effect

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        changed_outcome: Side = "candidate" if spec.atoms else "base"
        return ProbeResult(outcome=ProbeOutcome(changed_outcome if self.effect else spec.side), assumed_steps=1)


PROMPT = Atom(id="p", category="prompt", title="Changing the router's prompt")


def test_cause_past_an_assumed_step_is_never_high() -> None:
    proof = prove(Case(question=outcomes.question("answer", []), atoms=[PROMPT]), Assuming(effect=True), Budget())
    assert (proof.verdict, proof.confidence) == ("single", "medium")
    assert "assumed to be unaffected" in proof.rule
    assert any("do not explain all of its input" in line for line in proof.assumptions)


def test_assumed_steps_rule_no_change_out() -> None:
    proof = prove(Case(question=outcomes.question("answer", []), atoms=[PROMPT]), Assuming(effect=False), Budget())
    assert (proof.verdict, proof.confidence) == ("inconclusive", "low")
    assert (proof.atoms[0].sufficient, proof.atoms[0].necessary) == (None, None)
    assert "not recorded did" not in proof.conclusion


class SubstituteModel(RenamedTool):
    """A different model answers the live calls."""

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        models = ("m2 in place of m1",)
        return ProbeResult(
            outcome=ProbeOutcome.CANDIDATE if spec.atoms else ProbeOutcome.BASE, live_calls=1, other_models=models
        )


def test_other_models_are_named_first() -> None:
    lab = SubstituteModel(borrowed_answers=0)
    proof = prove(Case(question=outcomes.question("answer", []), atoms=[PROMPT]), lab, Budget(live_calls=None))
    model_clause, claim = proof.conclusion.split(". ", 1)
    assert model_clause.endswith("other models than the recorded ones: m2 in place of m1")
    assert claim.startswith("Changing the router's prompt")


@pytest.mark.parametrize(
    ("requested_model", "answering_model", "text"),
    [
        (("openai", "gpt-5"), ("openai", "gpt-5-2025-08-07"), ""),
        (("OpenAI", "openai/gpt-5"), ("openai", "gpt-5"), ""),
        (("", "claude-4"), ("anthropic", "claude-4-latest"), ""),
        (("openai", "gpt-5"), ("openai", "gpt-5-mini"), "gpt-5-mini of openai in place of gpt-5 of openai"),
        (("openai", "gpt-4"), ("openai", "gpt-4o"), "gpt-4o of openai in place of gpt-4 of openai"),
        (("azure", "gpt-5"), ("openai", "gpt-5"), ""),
    ],
)
def test_model_version_is_the_same_model(
    requested_model: tuple[str, str], answering_model: tuple[str, str], text: str
) -> None:
    requested_name, answering = (
        ServedModel(provider=provider, model=model) for provider, model in (requested_model, answering_model)
    )
    assert substitution(requested_name, answering) == text


def test_unrecognised_sides_show_no_effect() -> None:
    lab = Unrecognisable(("We look at it.",), ("We look at it.",))
    findings = prove_lab(lab)
    # Some of the answers are the same on both sides.
    assert (findings.verdict, findings.question.kind) == ("noise", "answer")


class Unrecognisable(Rewording):
    """Repeats of the base resemble neither recording, those of the candidate its own."""

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        self.draw_count += 1
        text = reword("We look at it.", 5 if spec.atoms and self.draw_count % 2 else self.draw_count % 3)
        values = outcomes.values("answer", Result(answer=text))
        return ProbeResult(outcome=ProbeOutcome.OTHER, value=values["answer"], values=values, live_calls=1)


def test_order_of_words_distinguishes_answers_that_have_the_same_words() -> None:
    openings = ("sure", "fine", "well", "right")
    base, candidate = ([f"{opening} take {order}" for opening in openings] for order in ("tea or rye", "rye or tea"))
    assert outcomes.alike("hello take rye or tea", base, candidate) is ProbeOutcome.CANDIDATE
    # Of a few answers, each has other pairs by chance; and words in themselves say more than their order.
    assert outcomes.alike("hello take rye or tea", base[:3], candidate[:3]) is ProbeOutcome.OTHER
    later_answers = [f"{text} now" for text in candidate]
    assert outcomes.alike("hello take tea or rye now", base, later_answers) is ProbeOutcome.CANDIDATE
