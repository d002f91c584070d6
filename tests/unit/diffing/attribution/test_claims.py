"""What a verdict's sentence may claim: no more than the recordings hold."""

from dataclasses import replace
from typing import cast

import pytest

from diffing.compare.placeholders import is_placeholder, untested_side
from diffing.content.similarity import Lexical
from diffing.report.build import build_report
from diffing.report.evidence import with_evidence
from diffing.schemas.report import DiffOptions, DiffReport
from diffing.sequences.text_diff import difference_excerpts
from tests.support.comparing import (
    CONFIRMATION,
    FIX,
    NOW,
    PROMPT,
    REJECTION,
    StepSpec,
    Store,
    agent,
    assistant,
    diff_of,
    failing_refund,
    fixed_refund,
    model,
    output,
    refund_run,
    side_of,
    system,
    tool,
    user,
)
from tests.unit.diffing.report.test_evidence import evidence
from traces.core.ids import new_id
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import Reason, StepType

BLOCKED = "[Forkpoint] Tool 'issue_refund' blocked (side effect, no cache available)"


def blocked_refund() -> list[StepSpec]:
    """The fixed prompt, where the replay did not run the refund."""
    final = f"I am sorry: {BLOCKED}"
    given = refund_run(prompt=PROMPT + FIX, amount=42, result=BLOCKED, status="ok", final=final)
    given[4] = replace(given[4], reason=Reason.SIDE_EFFECT_BLOCKED)
    return given


def declaring(base: list[StepSpec], candidate: list[StepSpec], *configs: str) -> DiffReport:
    """Two recordings that name their configurations."""
    store = Store()
    sides = [
        replace(side, run=replace(side.run, metadata={"config": {"policy": config}}))
        for side, config in zip((side_of(base, store), side_of(candidate, store)), configs, strict=True)
    ]
    return build_report(
        id=new_id(),
        created_at=NOW,
        base=sides[0],
        candidate=sides[1],
        options=DiffOptions(similarity="lexical"),
        measure=Lexical(),
        load=store.load,
    )


@pytest.mark.parametrize("turned", [False, True])
def test_a_placeholder_is_nobodys_answer(turned: bool) -> None:
    base, candidate = failing_refund(), blocked_refund()
    report = diff_of(candidate, base) if turned else diff_of(base, candidate, derived=True)
    side = "base" if turned else "candidate"
    found = report.attribution
    assert f"the {side} did not run issue_refund (it has a side effect), so its final answer is not" in found.sentence
    assert "[Forkpoint]" not in found.sentence
    assert "succeeded" not in found.sentence
    assert f"not run in the {side}" in next(link.text for link in found.path if link.step.name == "issue_refund")


def test_an_answer_with_many_other_fields_is_not_named_by_one_of_them() -> None:
    def run(order: JSONObject, final: str) -> list[StepSpec]:
        given = refund_run(prompt=PROMPT, amount=42, result={"state": "accepted"}, status="ok", final=final)
        given[2] = replace(given[2], output=order)
        asked = cast(JSONObject, given[3].input)
        messages = cast(list[JSONObject], asked["messages"])
        given[3] = replace(given[3], input={"messages": [*messages[:-1], {**messages[-1], "content": order}]})
        return given

    kept = run({"status": "delivered", "total": 42, "id": "A-1042", "customer": "Mira"}, CONFIRMATION)
    gone = run({"status": "cancelled"}, REJECTION)
    gone[2] = replace(gone[2], reason=Reason.OPERATOR_OVERRIDE)
    found = diff_of(kept, gone, derived=True).attribution
    assert found.primary is not None
    assert found.primary.title == (
        "Changing the output of get_order (status delivered → cancelled; 3 fields removed: customer, id, total)"
    )


def test_changes_made_together_are_not_told_by_one_of_them() -> None:
    candidate = refund_run(
        prompt=PROMPT + FIX, amount=42, result={"state": "accepted"}, status="ok", final=CONFIRMATION, model_name="m2"
    )
    sentence = diff_of(failing_refund(), candidate, derived=True).attribution.sentence
    assert sentence.startswith("2 changes were made together; which of them is the cause was not tested: adding “")
    assert "; switching the model from m1 to m2. The answer is now" in sentence


def test_two_recordings_name_what_else_differs() -> None:
    candidate = refund_run(
        prompt=PROMPT + FIX, amount=42, result={"state": "accepted"}, status="ok", final=CONFIRMATION, model_name="m2"
    )
    sentence = diff_of(failing_refund(), candidate).attribution.sentence
    assert sentence.startswith("Suspected, not proved: adding “Amounts")
    assert sentence.endswith(" Not ruled out: switching the model from m1 to m2.")


def test_without_a_recorded_flow_no_effect_is_claimed() -> None:
    def run(result: JSONObject | None, status: str, final: str) -> list[StepSpec]:
        looked = tool("lookup", "", {"x": 1}, result, status=status)
        return [agent(), looked, StepSpec(type=StepType.OUTPUT, name="output", parent=1, output={"text": final})]

    slow = diff_of(run({"eta": 2}, "ok", "It comes on Monday."), run(None, "timeout", "Please try again.")).attribution
    assert slow.sentence.startswith("Suspected, not proved: lookup timing out instead of returning {eta}. The answer")
    assert slow.sentence.endswith("The recordings do not show how one led to the other.")


def test_declared_configurations_come_before_a_users_wording() -> None:
    def run(asked: str, answer: str) -> list[StepSpec]:
        return [agent(), model([user(asked)], assistant(answer)), output(answer)]

    report = declaring(run("Hello, refund it", "Done."), run("Hi, refund it", "Not possible."), "base", "policy_v2")
    assert report.attribution.sentence.startswith(
        "Suspected, not proved: the runs declare different configurations (policy base → policy_v2), and the effect "
        "of these was not recorded. First recorded difference: changing “Hello” to “Hi” in the user's message."
    )


def test_declared_configurations_do_not_hide_a_recorded_change_of_the_model() -> None:
    def run(name: str, answer: str) -> list[StepSpec]:
        return [agent(), model([system("Be kind."), user("Refund it")], assistant(answer), model=name), output(answer)]

    report = declaring(run("m1", "Done."), run("m2", "Not possible."), "base", "other")
    assert report.attribution.sentence.startswith("Suspected, not proved: switching the model from m1 to m2 changed")


def test_an_answer_that_somebody_typed_in_needs_no_experiment() -> None:
    candidate = failing_refund()
    candidate[5] = replace(candidate[5], output={"message": assistant(CONFIRMATION)}, reason=Reason.OPERATOR_OVERRIDE)
    candidate[6] = output(CONFIRMATION)
    found = diff_of(failing_refund(), candidate, derived=True).attribution
    assert found.sentence.startswith("The output of step 6 (model chat) was set by hand, so the outcome differs by")
    assert found.cheapest_experiment == ""


def test_a_model_is_not_said_to_have_been_asked_the_same_where_it_was_not() -> None:
    def run(name: str, asked: str, answer: str) -> list[StepSpec]:
        return [agent(), model([user(asked)], assistant(answer), model=name), output(answer)]

    reasons = [
        " ".join(diff_of(run("m1", "Go", "No."), run("m2", asked, "Yes, of course.")).attribution.evidence)
        + " ".join(
            c.description
            for c in diff_of(run("m1", "Go", "No."), run("m2", asked, "Yes, of course.")).attribution.alternatives
        )
        for asked in ("Go", "Go on")
    ]
    assert "its request did not" in reasons[0]
    assert "its request differs as well" in reasons[1]


def test_quotations_show_where_texts_differ() -> None:
    start = "The request for your order has been processed. " * 3
    one, other = difference_excerpts(f"{start}You get 16 EUR.", f"{start}You get 40 EUR.", 60)
    assert one != other
    assert one.startswith("…")
    assert difference_excerpts("a", "b", 60) == ("a", "b")
    assert max(map(len, difference_excerpts(start + "x" * 90, start + "y" * 90, 60))) <= 60


def test_a_check_that_was_not_run_neither_failed_nor_passed() -> None:
    store = Store()
    failed = tool("check", "c1", {}, None, status="error")
    waited = replace(failed, status="ok", reason=Reason.POLICY_FALLBACK)
    ran, idle = (side_of([step], store).steps[0] for step in (failed, waited))
    assert is_placeholder(idle)
    assert (untested_side(ran, idle), untested_side(idle, ran), untested_side(ran, ran)) == ("candidate", "base", "")


def test_equal_runs_with_placeholders_have_no_difference() -> None:
    assert diff_of(blocked_refund(), blocked_refund()).attribution.verdict == "no_difference"
    assert diff_of(fixed_refund(), fixed_refund()).attribution.sentence == "The two runs do not differ."


@pytest.mark.parametrize("derived", [True, False])
def test_what_replays_prove_is_not_told_with_the_doubts_of_before(derived: bool) -> None:
    candidate = refund_run(
        prompt=PROMPT + FIX, amount=42, result={"state": "accepted"}, status="ok", final=CONFIRMATION, model_name="m2"
    )
    before = diff_of(failing_refund(), candidate, derived=derived)
    sentence = with_evidence(before, [evidence(before)]).attribution.sentence
    assert "Not ruled out" not in sentence
    assert "not tested" not in sentence


def test_a_step_replayed_with_another_model_has_that_models_name() -> None:
    def run(name: str) -> list[StepSpec]:
        call = model([user("Go")], assistant(f"By {name}."), model=name)
        return [agent(), replace(call, name="m1"), output(f"By {name}.")]

    for one, other in (("m1", "m2"), ("m2", "m1")):
        pair = diff_of(run(one), run(other)).pairs[1]
        assert [step.name for step in (pair.base, pair.candidate) if step] == [one, other]


def test_other_documents_are_counted_by_what_became_of_them() -> None:
    def run(*texts: str) -> list[StepSpec]:
        found: list[JSONValue] = [{"id": f"d{at}", "content": text} for at, text in enumerate(texts)]
        asked = StepSpec(
            type=StepType.RETRIEVAL,
            name="policies",
            parent=1,
            input={"query": "q"},
            output={"documents": found},
            reason=Reason.OPERATOR_OVERRIDE,
        )
        return [agent(), asked, model([user(" ".join(texts))], assistant(texts[0])), output(texts[0])]

    base = run("Return it within 14 days.", "Pay by card only, please.", "Ship it in a week or so.")
    found = diff_of(base, run("Return it within 30 days."), derived=True).attribution
    assert found.primary is not None
    assert found.primary.title == ("Changing “14” to “30” in a document from policies (other documents: 2 removed)")


def test_sections_with_nothing_to_compare_say_so() -> None:
    def run(kind: str) -> list[StepSpec]:
        steps = [model([user(f"{kind} {n}")], assistant(f"{kind} says {n}")) for n in range(2)]
        return [agent(), *(steps if kind == "a" else [tool(kind, "", {"x": 1}, {"y": 2})]), output(kind)]

    report = diff_of(run("a"), run("b"))
    assert report.sections.prompt.summary.startswith("No prompts to compare")
    assert "no answers to compare" in report.sections.model.summary.lower()
    assert "(similarity 0." in report.sections.output.summary


@pytest.mark.parametrize(
    ("template", "says"), [("Use {rule}.", "the prompt variables of"), ("By {rule}.", "a different template")]
)
def test_other_variables_are_not_called_another_template(template: str, says: str) -> None:
    def run(used: str, rule: str, answer: str) -> list[StepSpec]:
        filled = StepSpec(
            type=StepType.PROMPT,
            name="ask",
            parent=1,
            input={"template": used, "variables": {"rule": rule}},
            output={"text": used.replace("{rule}", rule)},
        )
        asked = model([user(used.replace("{rule}", rule))], assistant(answer))
        return [agent(), tool("rules", "c1", {"x": 1}, {"r": rule}), filled, asked, output(answer)]

    base = run("Use {rule}.", "14", "Within 14 days, as always.")
    long = run(template, "thirty days from the delivery of the parcel", "Within a month, and no later.")
    long[1] = replace(long[1], reason=Reason.OPERATOR_OVERRIDE)
    found = diff_of(base, long, derived=True).attribution
    assert [line for line in found.evidence if says in line and "Not ruled out" in line]


def test_the_answer_to_a_denied_call_is_the_agents_own() -> None:
    candidate = blocked_refund()
    candidate[4] = replace(candidate[4], reason=Reason.DENIED, status="denied")
    sentence = diff_of(failing_refund(), candidate, derived=True).attribution.sentence
    assert "not what the agent would have answered" not in sentence
    assert "the answer" in sentence
