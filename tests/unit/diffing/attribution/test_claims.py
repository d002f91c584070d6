"""Claims of a verdict's sentence: no stronger than the recordings."""

from dataclasses import replace
from typing import cast

import pytest

from diffing.compare.placeholders import is_placeholder, untested_side
from diffing.content.similarity import Lexical
from diffing.report.build import build_report
from diffing.report.evidence import with_evidence
from diffing.schemas.report import DiffOptions, DiffReport
from diffing.sentences.notes import plain_text
from diffing.sequences.text_diff import difference_excerpts
from tests.support.comparing import (
    CONFIRMATION,
    FIX,
    NOW,
    PROMPT,
    REJECTION,
    Spec,
    Store,
    agent,
    diff_of,
    failing_refund,
    fixed_refund,
    model,
    output,
    refund_run,
    reply,
    side_of,
    system,
    tool,
    user,
)
from tests.unit.diffing.report.test_evidence import evidence
from traces.core.ids import new_id
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import Reason, StepType

BLOCK_NOTE = "[Forkpoint] Tool 'issue_refund' blocked (side effect, no cache available)"


def blocked_refund() -> list[Spec]:
    """The fixed prompt, in a replay that did not run the refund."""
    final = f"I am sorry: {BLOCK_NOTE}"
    steps = refund_run(prompt=PROMPT + FIX, amount=42, result=BLOCK_NOTE, status="ok", final=final)
    steps[4] = replace(steps[4], reason=Reason.SIDE_EFFECT_BLOCKED)
    return steps


def declaring(base: list[Spec], candidate: list[Spec], *configs: str) -> DiffReport:
    """Two recordings that declare their configurations."""
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


@pytest.mark.parametrize("is_swapped", [False, True])
def test_placeholder_is_not_an_answer(is_swapped: bool) -> None:
    base, candidate = failing_refund(), blocked_refund()
    report = diff_of(candidate, base) if is_swapped else diff_of(base, candidate, derived=True)
    side = "base" if is_swapped else "candidate"
    result = report.attribution
    assert f"the {side} did not run issue_refund (it has a side effect), so its final answer is not" in result.sentence
    assert "[Forkpoint]" not in result.sentence
    assert "succeeded" not in result.sentence
    assert f"not run in the {side}" in next(
        plain_text(link.note) for link in result.path if link.step.name == "issue_refund"
    )


def test_many_changed_fields_are_all_counted() -> None:
    def run(order: JSONObject, final: str) -> list[Spec]:
        steps = refund_run(prompt=PROMPT, amount=42, result={"state": "accepted"}, status="ok", final=final)
        steps[2] = replace(steps[2], output=order)
        asked = cast(JSONObject, steps[3].input)
        messages = cast(list[JSONObject], asked["messages"])
        steps[3] = replace(steps[3], input={"messages": [*messages[:-1], {**messages[-1], "content": order}]})
        return steps

    full_result = run({"status": "delivered", "total": 42, "id": "A-1042", "customer": "Mira"}, CONFIRMATION)
    short_result = run({"status": "cancelled"}, REJECTION)
    short_result[2] = replace(short_result[2], reason=Reason.OPERATOR_OVERRIDE)
    result = diff_of(full_result, short_result, derived=True).attribution
    assert result.primary is not None
    assert result.primary.title == (
        "Changing the output of get_order (status delivered → cancelled; 3 fields removed: customer, id, total)"
    )


def test_joint_changes_are_named_together() -> None:
    candidate = refund_run(
        prompt=PROMPT + FIX, amount=42, result={"state": "accepted"}, status="ok", final=CONFIRMATION, model_name="m2"
    )
    sentence = diff_of(failing_refund(), candidate, derived=True).attribution.sentence
    assert sentence.startswith("2 changes were made together; which of them is the cause was not tested: adding “")
    assert "; switching the model from m1 to m2. The answer is now" in sentence


def test_recordings_list_other_differences() -> None:
    candidate = refund_run(
        prompt=PROMPT + FIX, amount=42, result={"state": "accepted"}, status="ok", final=CONFIRMATION, model_name="m2"
    )
    sentence = diff_of(failing_refund(), candidate).attribution.sentence
    assert sentence.startswith("Suspected, not proved: adding “Amounts")
    assert sentence.endswith(" Not ruled out: switching the model from m1 to m2.")


def test_no_effect_claimed_without_data_flow() -> None:
    def run(result: JSONObject | None, status: str, final: str) -> list[Spec]:
        lookup = tool("lookup", "", {"x": 1}, result, status=status)
        return [agent(), lookup, Spec(type=StepType.OUTPUT, name="output", parent=1, output={"text": final})]

    slow = diff_of(run({"eta": 2}, "ok", "It comes on Monday."), run(None, "timeout", "Please try again.")).attribution
    assert slow.sentence.startswith("Suspected, not proved: lookup timing out instead of returning {eta}. The answer")
    assert slow.sentence.endswith("The recordings do not show how one led to the other.")


def test_declared_configurations_precede_user_wording() -> None:
    def run(asked: str, answer: str) -> list[Spec]:
        return [agent(), model([user(asked)], reply(answer)), output(answer)]

    report = declaring(run("Hello, refund it", "Done."), run("Hi, refund it", "Not possible."), "base", "policy_v2")
    assert report.attribution.sentence.startswith(
        "Suspected, not proved: the runs declare different configurations (policy base → policy_v2), and the effect "
        "of these was not recorded. First recorded difference: changing “Hello” to “Hi” in the user's message."
    )


def test_different_configurations_are_a_difference() -> None:
    report = declaring(failing_refund(), failing_refund(), "base", "policy_v2")
    assert report.attribution.sentence == (
        "No step differs between the two runs; their declared configurations do: policy base → policy_v2."
    )
    assert report.brief is not None
    assert report.brief.changed == "The declared configuration. Every step is the same in both runs."


def test_recorded_model_change_precedes_declared_configurations() -> None:
    def run(name: str, answer: str) -> list[Spec]:
        return [agent(), model([system("Be kind."), user("Refund it")], reply(answer), model=name), output(answer)]

    report = declaring(run("m1", "Done."), run("m2", "Not possible."), "base", "other")
    assert report.attribution.sentence.startswith("Suspected, not proved: switching the model from m1 to m2 changed")


def test_manual_answer_needs_no_experiment() -> None:
    candidate = failing_refund()
    candidate[5] = replace(candidate[5], output={"message": reply(CONFIRMATION)}, reason=Reason.OPERATOR_OVERRIDE)
    candidate[6] = output(CONFIRMATION)
    result = diff_of(failing_refund(), candidate, derived=True).attribution
    assert result.sentence.startswith("The output of step 6 (model chat) was set by hand, so the outcome differs by")
    assert result.cheapest_experiment == ""


def test_differing_request_is_stated() -> None:
    def run(name: str, request: str, answer: str) -> list[Spec]:
        return [agent(), model([user(request)], reply(answer), model=name), output(answer)]

    reasons = [
        " ".join(diff_of(run("m1", "Go", "No."), run("m2", request, "Yes, of course.")).attribution.evidence)
        + " ".join(
            c.description
            for c in diff_of(run("m1", "Go", "No."), run("m2", request, "Yes, of course.")).attribution.alternatives
        )
        for request in ("Go", "Go on")
    ]
    assert "its request did not" in reasons[0]
    assert "its request differs as well" in reasons[1]


def test_quotations_show_the_difference() -> None:
    start = "The request for your order has been processed. " * 3
    base, candidate = difference_excerpts(f"{start}You get 16 EUR.", f"{start}You get 40 EUR.", 60)
    assert base != candidate
    assert base.startswith("…")
    assert difference_excerpts("a", "b", 60) == ("a", "b")
    assert max(map(len, difference_excerpts(start + "x" * 90, start + "y" * 90, 60))) <= 60


def test_skipped_check_has_no_outcome() -> None:
    store = Store()
    failed = tool("check", "c1", {}, None, status="error")
    skipped_check = replace(failed, status="ok", reason=Reason.POLICY_FALLBACK)
    ran, idle = (side_of([step], store).steps[0] for step in (failed, skipped_check))
    assert is_placeholder(idle)
    assert (untested_side(ran, idle), untested_side(idle, ran), untested_side(ran, ran)) == ("candidate", "base", "")


def test_equal_placeholders_are_no_difference() -> None:
    assert diff_of(blocked_refund(), blocked_refund()).attribution.verdict == "no_difference"
    assert (
        diff_of(fixed_refund(), fixed_refund()).attribution.sentence == "Nothing recorded differs between the two runs."
    )


@pytest.mark.parametrize("derived", [True, False])
def test_proof_drops_earlier_doubts(derived: bool) -> None:
    candidate = refund_run(
        prompt=PROMPT + FIX, amount=42, result={"state": "accepted"}, status="ok", final=CONFIRMATION, model_name="m2"
    )
    before = diff_of(failing_refund(), candidate, derived=derived)
    sentence = with_evidence(before, [evidence(before)]).attribution.sentence
    assert "Not ruled out" not in sentence
    assert "not tested" not in sentence


def test_replayed_step_has_its_own_model_name() -> None:
    def run(name: str) -> list[Spec]:
        call = model([user("Go")], reply(f"By {name}."), model=name)
        return [agent(), replace(call, name="m1"), output(f"By {name}.")]

    for base_model, candidate_model in (("m1", "m2"), ("m2", "m1")):
        pair = diff_of(run(base_model), run(candidate_model)).pairs[1]
        assert [step.name for step in (pair.base, pair.candidate) if step] == [base_model, candidate_model]


def test_other_documents_are_counted_by_change() -> None:
    def run(*texts: str) -> list[Spec]:
        attribution: list[JSONValue] = [{"id": f"d{at}", "content": text} for at, text in enumerate(texts)]
        asked = Spec(
            type=StepType.RETRIEVAL,
            name="policies",
            parent=1,
            input={"query": "q"},
            output={"documents": attribution},
            reason=Reason.OPERATOR_OVERRIDE,
        )
        return [agent(), asked, model([user(" ".join(texts))], reply(texts[0])), output(texts[0])]

    base = run("Return it within 14 days.", "Pay by card only, please.", "Ship it in a week or so.")
    result = diff_of(base, run("Return it within 30 days."), derived=True).attribution
    assert result.primary is not None
    assert result.primary.title == ("Changing “14” to “30” in a document from policies (other documents: 2 removed)")


def test_sections_state_missing_content() -> None:
    def run(kind: str) -> list[Spec]:
        steps = [model([user(f"{kind} {n}")], reply(f"{kind} says {n}")) for n in range(2)]
        return [agent(), *(steps if kind == "a" else [tool(kind, "", {"x": 1}, {"y": 2})]), output(kind)]

    report = diff_of(run("a"), run("b"))
    assert report.sections.prompt.summary.startswith("No prompts to compare")
    assert "no answers to compare" in report.sections.model.summary.lower()
    assert "(similarity 0." in report.sections.output.summary


@pytest.mark.parametrize(
    ("template", "says"), [("Use {rule}.", "the prompt variables of"), ("By {rule}.", "a different template")]
)
def test_variable_changes_are_not_template_changes(template: str, says: str) -> None:
    def run(template_text: str, rule: str, answer: str) -> list[Spec]:
        prompt_step = Spec(
            type=StepType.PROMPT,
            name="ask",
            parent=1,
            input={"template": template_text, "variables": {"rule": rule}},
            output={"text": template_text.replace("{rule}", rule)},
        )
        model_step = model([user(template_text.replace("{rule}", rule))], reply(answer))
        return [agent(), tool("rules", "c1", {"x": 1}, {"r": rule}), prompt_step, model_step, output(answer)]

    base = run("Use {rule}.", "14", "Within 14 days, as always.")
    long = run(template, "thirty days from the delivery of the parcel", "Within a month, and no later.")
    long[1] = replace(long[1], reason=Reason.OPERATOR_OVERRIDE)
    result = diff_of(base, long, derived=True).attribution
    assert [line for line in result.evidence if says in line and "Not ruled out" in line]


def test_answer_after_denied_call_counts() -> None:
    candidate = blocked_refund()
    candidate[4] = replace(candidate[4], reason=Reason.DENIED, status="denied")
    sentence = diff_of(failing_refund(), candidate, derived=True).attribution.sentence
    assert "not what the agent would have answered" not in sentence
    assert "the answer" in sentence


def test_noise_mentions_earlier_differences() -> None:
    """A query that found the same documents differs, too."""

    def run(query: str, final: str) -> list[Spec]:
        question = [system("Compare orders."), user("Is A-1 or A-2 better?")]
        documents: JSONValue = [{"id": "d1", "content": "Orders are compared by price."}]
        search = Spec(
            type=StepType.RETRIEVAL, name="search", parent=1, input={"query": query}, output={"documents": documents}
        )
        return [agent(), search, model(question, reply(final)), output(final)]

    report = diff_of(run("compare orders", "Both are fine."), run("comparison", "A-2 is the better one."))
    assert report.attribution.verdict == "noise"
    assert report.attribution.sentence.startswith("What differs before step 3 is not in its request. There the model")


def test_call_that_may_have_changed_state_is_not_ruled_out() -> None:
    """The tool may have stored something else, which a later call of a tool returns."""

    def run(level: str, name: str) -> list[Spec]:
        final = f"Dear {name} customer"
        request = [system("Greet."), user(f"Customer level {name}. Hi")]
        calls = [tool("remember", "", {"level": level}, "ok"), tool("recall", "", {}, name)]
        return [agent(), *calls, model(request, reply(final)), output(final)]

    attribution = diff_of(run("vip", "gold"), run("std", "plain")).attribution
    assert [cause.title for cause in attribution.alternatives] == ["Changing remember's level from vip to std"]
    assert not any("Ruled out" in line for line in attribution.evidence)
