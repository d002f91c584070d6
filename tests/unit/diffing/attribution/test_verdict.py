"""What the recordings alone can say about a cause, and how it is said."""

from dataclasses import replace
from typing import cast

import pytest

from diffing.schemas.report import DiffReport
from tests.support.comparing import (
    CONFIRMATION,
    FIX,
    PROMPT,
    REJECTION,
    StepSpec,
    Store,
    agent,
    assistant,
    assistant_call,
    diff_of,
    failing_refund,
    fixed_refund,
    model,
    output,
    refund_run,
    report_of,
    side_of,
    system,
    tool,
    tool_message,
    user,
)
from traces.core.json_types import JSONObject
from traces.core.vocabulary import Reason, StepType


def retrieval_run(*documents: str, answer: str, top_k: int = 2, note: str = "") -> list[StepSpec]:
    """A question answered from documents."""
    found: list[JSONObject] = [{"id": name, "content": f"{name} says: {name} applies."} for name in documents]
    context = " ".join(str(item["content"]) for item in found)
    return [
        agent(),
        StepSpec(
            type=StepType.RETRIEVAL,
            name="search_policies",
            parent=1,
            input={"query": "refunds", "top_k": top_k},
            output={"documents": [*found]},
        ),
        model([system(f"Answer from the policies.{note}"), user(f"Refund? {context}")], assistant(answer)),
        output(answer),
    ]


def overridden_refund() -> list[StepSpec]:
    """The failing refund with the tool's answer replaced by an operator."""
    given = failing_refund()
    result: JSONObject = {"state": "accepted"}
    before = cast(list[JSONObject], cast(JSONObject, given[5].input)["messages"])
    given[4] = replace(given[4], output=result, status="ok", reason=Reason.OPERATOR_OVERRIDE)
    given[5] = model([*before[:-1], tool_message("c2", result)], assistant(CONFIRMATION))
    given[6] = output(CONFIRMATION)
    return given


def test_a_fixed_prompt_is_named_with_what_it_changed_on_the_way() -> None:
    found = diff_of(failing_refund(), fixed_refund(), derived=True).attribution
    assert found.sentence == (
        "Adding “Amounts of issue_refund are in euros.” to the system prompt changed issue_refund's amount from 4200 "
        "to 42, so issue_refund succeeded instead of failing, "
        f"and the answer is now “{CONFIRMATION}” instead of “{REJECTION}”"
    )
    assert (found.verdict, found.confidence) == ("cause", "medium")
    assert found.primary is not None
    assert found.primary.category == "prompt"
    assert found.evidence[0] == "The prompt changed, so the model was asked something different."


def test_the_path_leads_over_the_call_to_the_answer() -> None:
    found = diff_of(failing_refund(), fixed_refund(), derived=True).attribution
    assert [(link.step.sequence_no, link.via) for link in found.path] == [
        (4, "cause"),
        (5, "tool_call_id"),
        (6, "tool_call_id"),
        (7, "text"),
    ]
    assert found.path[0].text == (
        "+ “Amounts of issue_refund are in euros.”; so it requests issue_refund with amount 42 instead of 4200"
    )
    assert {link.evidence for link in found.path} == {"inferred"}


def test_two_separate_recordings_never_give_more_than_low() -> None:
    found = diff_of(failing_refund(), fixed_refund()).attribution
    assert found.confidence == "low"
    assert found.sentence.startswith("Suspected, not proved: adding")
    assert any("chance" in line for line in found.evidence)


def test_taking_the_sentence_back_reads_the_other_way_round() -> None:
    sentence = diff_of(fixed_refund(), failing_refund(), derived=True).attribution.sentence
    assert sentence.startswith(
        "Removing “Amounts of issue_refund are in euros.” from the system prompt changed issue_refund's"
    )
    assert "amount from 42 to 4200, so issue_refund failed instead of succeeding" in sentence


def test_an_operators_tool_answer_is_a_known_cause() -> None:
    found = diff_of(failing_refund(), overridden_refund(), derived=True).attribution
    assert found.primary is not None
    assert (found.primary.category, found.confidence) == ("tool", "medium")
    assert found.sentence == (
        "Changing issue_refund's state from refused to accepted changed the answer "
        f"from “{REJECTION}” to “{CONFIRMATION}”"
    )
    assert any("The fork overrides the output" in line for line in found.evidence)


def test_a_model_switch_alone_is_the_cause() -> None:
    candidate = refund_run(
        prompt=PROMPT, amount=42, result={"state": "accepted"}, status="ok", final=CONFIRMATION, model_name="m2"
    )
    found = diff_of(failing_refund(), candidate, derived=True).attribution
    assert found.sentence.startswith("Switching the model from m1 to m2 changed issue_refund's amount from 4200 to 42")
    assert found.confidence == "medium"


def test_of_two_changes_the_rules_choose_and_the_other_stays_an_alternative() -> None:
    candidate = refund_run(
        prompt=PROMPT + FIX, amount=42, result={"state": "accepted"}, status="ok", final=CONFIRMATION, model_name="m2"
    )
    found = diff_of(failing_refund(), candidate, derived=True).attribution
    assert found.primary is not None
    assert found.primary.category == "prompt"
    assert [cause.title for cause in found.alternatives] == ["Switching the model from m1 to m2"]
    assert found.confidence == "low"
    assert "with only this change" in found.cheapest_experiment


def test_two_changes_of_one_kind_are_inconclusive() -> None:
    def run(prompt: str, tools: list[JSONObject], answer: str) -> list[StepSpec]:
        asked_for = model([system(prompt), user("Refund?")], assistant(answer))
        given = cast(JSONObject, asked_for.input)
        return [agent(), replace(asked_for, input={**given, "tools": [*tools]}), output(answer)]

    base = run("Be brief.", [{"name": "refund"}], "No.")
    candidate = run("Be kind.", [{"name": "refund"}, {"name": "cancel"}], "Gladly, yes.")
    found = diff_of(base, candidate, derived=True).attribution
    assert (found.verdict, found.primary) == ("inconclusive", None)
    assert len(found.alternatives) == 2
    assert found.cheapest_experiment


def test_another_answer_to_the_same_request_is_noise() -> None:
    found = diff_of(
        [agent(), model([user("Hi")], assistant("Hello there.")), output("Hello there.")],
        [agent(), model([user("Hi")], assistant("Good day to you.")), output("Good day to you.")],
    ).attribution
    assert (found.verdict, found.confidence) == ("noise", "noise")
    assert "answered the same request differently" in found.sentence
    assert "four times unchanged" in found.cheapest_experiment


def looked_up(orders: tuple[str, ...], final: str) -> list[StepSpec]:
    """Orders looked up one after another."""
    history, given = [system("Compare orders."), user("Which of A-1 and A-2 is the better one?")], [agent()]
    for order in orders:
        call, result = assistant_call(f"c-{order}", "get_order", order_id=order), {"id": order}
        given += [model(history, call), tool("get_order", f"c-{order}", {"order_id": order}, dict(result))]
        history = [*history, call, tool_message(f"c-{order}", dict(result))]
    return [*given, model(history, assistant(final)), output(final)]


@pytest.mark.parametrize("orders", [("A-2", "A-1"), ("A-2",)])
def test_another_answer_to_the_same_request_is_noise_though_it_asks_for_what_was_asked_later(
    orders: tuple[str, ...],
) -> None:
    found = diff_of(
        looked_up(("A-1", "A-2"), "Both are fine."), looked_up(orders, "A-2 is the better one.")
    ).attribution
    assert (found.verdict, found.confidence) == ("noise", "noise")
    assert "Nothing recorded differs before step 2" in found.sentence


def test_what_cannot_reach_the_answer_is_ruled_out_with_its_reason() -> None:
    side_call = tool("get_weather", "c9", {"city": "Bern"}, {"sky": "cloudy and rather grey"})
    other = replace(side_call, output={"sky": "a bright and cloudless blue"}, reason=Reason.OPERATOR_OVERRIDE)
    base, candidate = failing_refund(), fixed_refund()
    found = diff_of(
        [*base[:1], side_call, *base[1:]], [*candidate[:1], other, *candidate[1:]], derived=True
    ).attribution
    assert found.primary is not None
    assert found.primary.category == "prompt"
    assert any("get_weather" in line and "unreached" in line for line in found.evidence)
    assert found.confidence == "medium"


def test_a_change_without_effect_on_the_answer_is_no_cause() -> None:
    base = refund_run(prompt=PROMPT, amount=42, result={"state": "accepted"}, status="ok", final=CONFIRMATION)
    found = diff_of(base, fixed_refund(), derived=True).attribution
    assert (found.verdict, found.primary) == ("no_effect", None)
    assert found.sentence == (
        "Adding “Amounts of issue_refund are in euros.” to the system prompt made 3 steps differ, "
        "but the final answer is the same."
    )


def test_equal_runs_have_no_difference() -> None:
    report = diff_of(failing_refund(), failing_refund())
    assert report.attribution.verdict == "no_difference"
    assert report.attribution.confidence is None
    assert all(pair.relation == "same" for pair in report.pairs)
    assert report.scores.ars == 1.0
    assert not any(
        getattr(report.sections, name).items for name in ("prompt", "retrieval", "tool", "model", "output", "run")
    )


def test_other_call_ids_alone_are_no_difference() -> None:
    def run(key: str) -> list[StepSpec]:
        first = [user("Where is A-1?")]
        return [
            agent(),
            model(first, assistant_call(key, "get_order", id="A-1")),
            tool("get_order", key, {"id": "A-1"}, {"state": "shipped"}),
            model(
                [*first, assistant_call(key, "get_order", id="A-1"), tool_message(key, {"state": "shipped"})],
                assistant("Shipped."),
            ),
            output("Shipped."),
        ]

    assert diff_of(run("call_1"), run("call_2")).attribution.verdict == "no_difference"


def test_other_documents_come_before_a_model_switch() -> None:
    base = retrieval_run("policy-3", "policy-4", answer="Within 30 days.")
    candidate = retrieval_run("policy-7", "policy-4", answer="Within 14 days.")
    candidate[1] = replace(candidate[1], reason=Reason.OPERATOR_OVERRIDE)
    candidate[2] = replace(candidate[2], model="m2")
    found = diff_of(base, candidate, derived=True).attribution
    assert found.primary is not None
    assert found.primary.category == "retrieval"
    assert found.sentence.startswith(
        "Suspected, not proved: retrieving “policy-7 says: policy-7 applies.” instead of “policy-3 says"
    )


def test_a_retrieval_setting_is_named() -> None:
    base = retrieval_run("policy-3", "policy-4", answer="Within 30 days.")
    candidate = retrieval_run("policy-3", answer="I do not know.", top_k=1)
    found = diff_of(base, candidate, derived=True).attribution
    assert found.sentence.startswith("Changing search_policies's top_k from 2 to 1")


def test_what_the_user_said_is_upstream() -> None:
    base = [agent(), model([user("Refund A-1")], assistant("Done: A-1.")), output("Done: A-1.")]
    candidate = [agent(), model([user("Refund A-2")], assistant("Done: A-2.")), output("Done: A-2.")]
    found = diff_of(base, candidate).attribution
    assert found.primary is not None
    assert found.primary.category == "upstream"
    assert "in the user's message" in found.sentence


def test_what_a_user_says_after_another_answer_is_no_cause_and_not_ruled_out() -> None:
    def run(answer: str, reaction: str, final: str) -> list[StepSpec]:
        first = [user("Refund A-1")]
        return [
            agent(),
            model(first, assistant(answer)),
            model([*first, assistant(answer), user(reaction)], assistant(final)),
            output(final),
        ]

    found = diff_of(
        run("No.", "Why not?", "It is too late."), run("Yes.", "Thank you!", "You are welcome.")
    ).attribution
    assert (found.verdict, found.confidence) == ("inconclusive", "low")
    assert [cause.title.partition(" at ")[0] for cause in found.alternatives] == [
        "A different answer of the model to the same request",
        "Changing “Why not?” to “Thank you!” in the user's message",
    ]
    assert "the user's different message before step 3" in found.sentence


def test_steps_without_recorded_flow_are_ordered_and_it_is_said() -> None:
    def run(state: str, final: str) -> list[StepSpec]:
        return [
            agent(),
            tool("a", "c1", {"x": 1}, {"s": state}),
            StepSpec(type=StepType.OUTPUT, name="output", parent=1, input={"q": 1}, output={"text": final}),
        ]

    found = diff_of(run("on", "It is on now."), run("of", "Nothing to see.")).attribution
    assert found.confidence == "low"
    assert any("No recorded data flow" in line for line in found.evidence)


def test_a_payload_that_is_gone_is_named_and_the_rest_compared() -> None:
    store = Store()
    base, candidate = side_of(failing_refund(), store), side_of(fixed_refund(), store)
    del store.values[base.steps[4].output_ref]
    report = report_of(base, candidate, store)
    assert any(
        "missing" in gap.reason and gap.base and gap.base.sequence_no == 5 for gap in report.sections.tool.unavailable
    )
    assert report.attribution.verdict == "cause"


def test_requests_without_a_system_prompt_are_said_to_have_none() -> None:
    report = diff_of(
        [agent(), model([user("Hi")], assistant("Hello."))], [agent(), model([user("Hi")], assistant("Hello."))]
    )
    assert [gap.what for gap in report.sections.prompt.unavailable] == ["system prompt"]


@pytest.mark.parametrize("derived", [True, False])
def test_swapping_the_sides_swaps_the_report(derived: bool) -> None:
    def relations(report: DiffReport) -> set[tuple[int | None, int | None, str]]:
        numbers = [[side.sequence_no if side else None for side in (p.base, p.candidate)] for p in report.pairs]
        return {(base, candidate, p.relation) for (base, candidate), p in zip(numbers, report.pairs, strict=True)}

    flipped = {"added": "removed", "removed": "added"}
    longer = [*fixed_refund()[:-1], tool("notify", "c8", {"to": "A"}, {"sent": True}), fixed_refund()[-1]]
    there, back = diff_of(failing_refund(), longer), diff_of(longer, failing_refund())
    assert relations(there) == {(c, b, flipped.get(r, r)) for b, c, r in relations(back)}
    assert there.deltas.steps == -back.deltas.steps


def test_a_switched_model_stands_behind_the_calls_that_only_it_made() -> None:
    def run(model_name: str, *answers: str) -> list[StepSpec]:
        request = [user("Where is it?")]
        steps = [
            model([*request, *map(assistant, answers[:n])], assistant(text), model=model_name)
            for n, text in enumerate(answers)
        ]
        return [agent(), *steps, output(answers[-1])]

    base = run("m1", "It is in the post now.")
    candidate = run("m2", "Let me look around first.", "It is in the post now, and due on Monday.")
    found = diff_of(base, candidate).attribution
    assert found.primary is not None
    assert found.primary.title == "Switching the model from m1 to m2"
    assert not found.alternatives


def test_a_sentence_ends_once() -> None:
    sentences = [
        diff_of(failing_refund(), fixed_refund(), derived=True).attribution.sentence,
        diff_of(failing_refund(), failing_refund()).attribution.sentence,
    ]
    assert [sentence[-2:] for sentence in sentences] == [".”", "r."]


def test_a_cause_is_not_told_again_as_its_effect() -> None:
    def run(place: str, final: str) -> list[StepSpec]:
        return [agent(), tool("search", "c1", {"input": place}, f"Here is all about {place}."), output(final)]

    found = diff_of(run("Bern", "Bern it is."), run("Oslo", "Oslo it is.")).attribution
    assert found.sentence.count("search's input") == 1


def test_a_template_and_its_variables_are_one_prompt() -> None:
    def run(template: str, city: str, final: str) -> list[StepSpec]:
        rendered = template.replace("{city}", city)
        prompt = StepSpec(
            type=StepType.PROMPT,
            name="ask",
            parent=1,
            input={"template": template, "variables": {"city": city}},
            output={"text": rendered},
        )
        return [agent(), prompt, model([user(rendered)], assistant(final)), output(final)]

    base = run("What is the weather like in {city} today?", "Bern", "It rains in Bern.")
    found = diff_of(base, run("What is the time in {city} just now?", "Oslo", "Noon."), derived=True).attribution
    assert found.primary is not None
    assert "the prompt template" in found.primary.title
    only = diff_of(base, run("What is the weather like in {city} today?", "Oslo", "It snows up here."), derived=True)
    assert only.attribution.sentence.startswith("Changing the prompt's city from Bern to Oslo")


def test_what_identifies_a_request_is_no_parameter() -> None:
    def asked_by(user_id: str, temperature: float) -> list[StepSpec]:
        call = model([user("Hi")], assistant("Hello."), user=user_id, request_id=user_id, temperature=temperature)
        return [agent(), call, output("Hello.")]

    [changed] = diff_of(asked_by("ada", 0.0), asked_by("eve", 1.0)).sections.model.items
    assert [change.path for change in changed.values] == ["/temperature"]
    assert diff_of(asked_by("ada", 0.0), asked_by("eve", 0.0)).sections.model.items == []
