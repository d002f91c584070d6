"""Questions that can be answered: coarser ones where repeats disagree, and noise only where the sides overlap."""

from collections.abc import Sequence

import pytest

from diffing.schemas.evidence import Findings
from replay.proofs.core.types import Allowance, Atom, Atoms, Budget, Case, PathStep, ProbeResult, ProbeSpec, Side
from replay.proofs.counterfactual import outcomes
from replay.proofs.counterfactual.model_substitutes import ServedModel, substitution
from replay.proofs.counterfactual.outcomes import Result
from replay.proofs.evidence.findings import prove

OPENINGS = ("Sure.", "Of course.", "Right away.", "Let me see.", "Thanks.", "Well.", "Good day.", "Here you are.")
ENDINGS = ("Bye.", "I hope this helps.", "Ask me again.", "Have a nice day.", "Take care.", "Yours truly.", "Anyway.")


def worded(fact: str, number: int) -> str:
    """The same fact in other words each time."""
    return f"{OPENINGS[number % len(OPENINGS)]} {fact} {ENDINGS[number % len(ENDINGS)]}"


class Rewording:
    """A lab whose one change decides on the fact; every answer has words of its own."""

    def __init__(self, base: Sequence[str], candidate: Sequence[str]) -> None:
        self.facts = {"base": base, "candidate": candidate}
        self.drawn = 0

    def recorded(self, side: str) -> str:
        return worded(self.facts[side][0], 3 if side == "base" else 5)

    def probe(self, ask: ProbeSpec, allowance: Allowance) -> ProbeResult:
        self.drawn += 1
        facts = self.facts["candidate" if ask.atoms else "base"]
        values = outcomes.values("answer", Result(answer=worded(facts[self.drawn % len(facts)], self.drawn)))
        base, candidate = (
            outcomes.values("answer", Result(answer=self.recorded(side)))["answer"] for side in self.facts
        )
        outcome = outcomes.classify(values["answer"], base=base, candidate=candidate)
        return ProbeResult(outcome=outcome, value=values["answer"], values=values, live_calls=1)

    def parts(self, atom: Atom) -> list[Atom]:
        return []

    def path_steps(self, cause: Atoms) -> list[PathStep]:
        return []


def proved(lab: Rewording) -> Findings:
    case = Case(
        question=outcomes.question("answer", []),
        atoms=[Atom(id="a", category="prompt", title="Change a")],
        is_sampled=True,
        one_space=True,
        coarser=outcomes.coarser("answer"),
        values={side: outcomes.values("answer", Result(answer=lab.recorded(side))) for side in ("base", "candidate")},
    )
    return prove(case, lab, Budget(live_calls=None))


@pytest.mark.parametrize(
    ("facts", "kind"),
    [
        (("The fee is 42 euros.", "The fee is 15 euros."), "answer_facts"),
        (("We mend the lamp.", "We refund the invoice."), "answer_alike"),
    ],
)
def test_decision_in_new_words_is_no_noise(facts: tuple[str, str], kind: str) -> None:
    found = proved(Rewording(facts[:1], facts[1:]))
    assert (found.verdict, found.confidence, found.question.kind) == ("single", "high", kind)
    assert "The finer question is `answer`" in found.assumptions[0]
    assert "measures wording" in found.assumptions[0]


def test_decisions_that_mix_on_both_sides_are_noise() -> None:
    facts = ("The fee is 42 euros.", "The fee is 15 euros.")
    found = proved(Rewording(facts, facts[::-1]))
    assert (found.verdict, found.primary) == ("noise", [])


class Unlike(Rewording):
    """Answers that never repeat, of which nothing coarser is known."""

    def probe(self, ask: ProbeSpec, allowance: Allowance) -> ProbeResult:
        self.drawn += 1
        return ProbeResult(outcome="other", value=f"answer {self.drawn}", live_calls=1)


def test_answers_that_never_overlap_are_not_called_noise() -> None:
    found = proved(Unlike(["x"], ["y"]))
    assert (found.verdict, found.confidence) == ("inconclusive", "low")
    assert "The comparison measures wording" in found.conclusion


def test_likeness_counts_only_telling_words() -> None:
    base, candidate = (
        ["sure. we mend the lamp.", "well. we mend it."],
        ["sure. we refund the invoice.", "we refund it."],
    )
    assert outcomes.alike("well. the lamp is what we mend.", base, candidate) == "base"
    assert outcomes.alike("sure, a refund it is: we refund.", base, candidate) == "candidate"
    assert outcomes.alike("nothing of that.", base, candidate) == "other"


def test_many_weak_words_do_not_outvote_the_decision() -> None:
    base = ["so sure on friday.", "so sure on friday.", "well on friday."]
    candidate = ["well on sunday.", "well on sunday.", "so sure on sunday."]
    assert outcomes.alike("so sure it is on sunday.", [*base, "so sure on friday."], candidate) == "candidate"
    assert outcomes.alike("well, it is on friday.", base, [*candidate, "well on sunday."]) == "base"


class Swapped(Rewording):
    """Repeats of the base come out as the candidate was recorded, and those of the candidate otherwise."""

    def probe(self, ask: ProbeSpec, allowance: Allowance) -> ProbeResult:
        return ProbeResult(outcome="other" if ask.atoms else "candidate", value="x", live_calls=1)


def test_repeats_that_come_out_as_the_other_side_show_no_effect() -> None:
    found = proved(Swapped(["x"], ["y"]))
    assert (found.verdict, found.primary, found.noise.status) == ("noise", [], "not_rejected")


class Keyed:
    """Two separate recordings: the renamed tool answers as only the candidate recorded."""

    def __init__(self, *, borrowed: int) -> None:
        self.borrowed = borrowed

    def probe(self, ask: ProbeSpec, allowance: Allowance) -> ProbeResult:
        return ProbeResult(outcome="candidate" if ask.atoms else "base", borrowed_answers=self.borrowed)

    def parts(self, atom: Atom) -> list[Atom]:
        return []

    def path_steps(self, cause: Atoms) -> list[PathStep]:
        return []


@pytest.mark.parametrize(("borrowed", "sufficient"), [(1, None), (0, True)])
def test_renamed_tool_with_the_other_runs_data_is_not_sufficient(borrowed: int, *, sufficient: bool | None) -> None:
    renaming = Atom(id="tools", category="prompt", title="Renaming the tool", rekeys=True)
    found = prove(Case(question=outcomes.question("answer", []), atoms=[renaming]), Keyed(borrowed=borrowed), Budget())
    assert found.atoms[0].sufficient is sufficient
    assert (found.verdict, found.confidence) == ("single", "high" if sufficient else "medium")


class Powerless(Keyed):
    """No change that can be made does anything."""

    def probe(self, ask: ProbeSpec, allowance: Allowance) -> ProbeResult:
        return ProbeResult(outcome=ask.side)


@pytest.mark.parametrize(("untried", "claimed"), [(False, True), (True, False)])
def test_unrecorded_cause_is_claimed_only_when_all_was_applied(*, untried: bool, claimed: bool) -> None:
    atoms = [Atom(id="a", category="prompt", title="Change a")]
    atoms += [Atom(id="b", category="upstream", title="The reply", why_not="code made it")] if untried else []
    found = prove(Case(question=outcomes.question("answer", []), atoms=atoms), Powerless(borrowed=0), Budget())
    assert ("the cause was not recorded" in found.conclusion) is claimed
    assert ("the reply" in found.conclusion) is untried


def test_cause_after_a_changed_output_is_never_high() -> None:
    reply = Atom(id="reply", category="upstream", title="Changing the reply", follows=True)
    found = prove(Case(question=outcomes.question("answer", []), atoms=[reply]), Keyed(borrowed=0), Budget())
    assert (found.verdict, found.confidence) == ("single", "medium")
    assert "may be a response" in found.rule


class Derived(Keyed):
    """The probes took what the agent's code does from the other recording."""

    def probe(self, ask: ProbeSpec, allowance: Allowance) -> ProbeResult:
        return ProbeResult(outcome="candidate" if ask.atoms else "base", derived=True)


def test_cause_behind_unrecorded_code_is_never_high() -> None:
    prompt = Atom(id="p", category="prompt", title="Changing the router's prompt")
    found = prove(Case(question=outcomes.question("answer", []), atoms=[prompt]), Derived(borrowed=0), Budget())
    assert (found.verdict, found.confidence) == ("single", "medium")
    assert "code ran in between" in found.rule
    assert any("derives the same from equal answers" in line for line in found.assumptions)


class Assuming(Keyed):
    """The probes pass a step that is assumed to be unaffected; the changes do something, or nothing."""

    def __init__(self, *, effect: bool) -> None:
        self.effect = effect

    def probe(self, ask: ProbeSpec, allowance: Allowance) -> ProbeResult:
        turned: Side = "candidate" if ask.atoms else "base"
        return ProbeResult(outcome=turned if self.effect else ask.side, assumed_steps=1)


PROMPT = Atom(id="p", category="prompt", title="Changing the router's prompt")


def test_cause_past_an_assumed_step_is_never_high() -> None:
    found = prove(Case(question=outcomes.question("answer", []), atoms=[PROMPT]), Assuming(effect=True), Budget())
    assert (found.verdict, found.confidence) == ("single", "medium")
    assert "assumed to be unaffected" in found.rule
    assert any("do not explain all of its input" in line for line in found.assumptions)


def test_assumed_steps_rule_no_change_out() -> None:
    found = prove(Case(question=outcomes.question("answer", []), atoms=[PROMPT]), Assuming(effect=False), Budget())
    assert (found.verdict, found.confidence) == ("inconclusive", "low")
    assert (found.atoms[0].sufficient, found.atoms[0].necessary) == (None, None)
    assert "not recorded did" not in found.conclusion


class Replaced(Keyed):
    """Another model answers the live calls."""

    def probe(self, ask: ProbeSpec, allowance: Allowance) -> ProbeResult:
        models = ("m2 in place of m1",)
        return ProbeResult(outcome="candidate" if ask.atoms else "base", live_calls=1, other_models=models)


def test_other_models_are_named_before_any_claim() -> None:
    lab = Replaced(borrowed=0)
    found = prove(Case(question=outcomes.question("answer", []), atoms=[PROMPT]), lab, Budget(live_calls=None))
    named, claim = found.conclusion.split(". ", 1)
    assert named.endswith("other models than the recorded ones: m2 in place of m1")
    assert claim.startswith("Changing the router's prompt")


@pytest.mark.parametrize(
    ("asked", "answered", "said"),
    [
        (("openai", "gpt-5"), ("openai", "gpt-5-2025-08-07"), ""),
        (("OpenAI", "openai/gpt-5"), ("openai", "gpt-5"), ""),
        (("", "claude-4"), ("anthropic", "claude-4-latest"), ""),
        (("openai", "gpt-5"), ("openai", "gpt-5-mini"), "gpt-5-mini of openai in place of gpt-5 of openai"),
        (("openai", "gpt-4"), ("openai", "gpt-4o"), "gpt-4o of openai in place of gpt-4 of openai"),
        (("azure", "gpt-5"), ("openai", "gpt-5"), ""),
    ],
)
def test_other_model_is_told_from_its_version(asked: tuple[str, str], answered: tuple[str, str], said: str) -> None:
    one, other = (ServedModel(provider=provider, model=model) for provider, model in (asked, answered))
    assert substitution(one, other) == said


def test_sides_that_likeness_does_not_know_again_show_no_effect() -> None:
    lab = Unknown(("We look at it.",), ("We look at it.",))
    findings = proved(lab)
    assert findings.question.kind == "answer_alike"
    assert findings.verdict in {"noise", "inconclusive"}


class Unknown(Rewording):
    """Repeats of the base are like neither recording, those of the candidate like its own."""

    def probe(self, ask: ProbeSpec, allowance: Allowance) -> ProbeResult:
        self.drawn += 1
        text = worded("We look at it.", 5 if ask.atoms and self.drawn % 2 else self.drawn % 3)
        values = outcomes.values("answer", Result(answer=text))
        return ProbeResult(outcome="other", value=values["answer"], values=values, live_calls=1)
