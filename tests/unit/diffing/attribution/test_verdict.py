"""Verdicts from the recordings alone, and their sentences."""

from dataclasses import replace
from typing import cast

import pytest

from diffing.schemas.report import DiffReport
from tests.support.comparing import (
    CONFIRMATION,
    FIX,
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
    report_of,
    side_of,
    system,
    tool,
    tool_call,
    tool_message,
    user,
)
from traces.core.json_types import JSONObject
from traces.core.vocabulary import Reason, StepType


def retrieval_run(*documents: str, answer: str, top_k: int = 2, note: str = "") -> list[Spec]:
    """A question answered from documents."""
    items: list[JSONObject] = [{"id": name, "content": f"{name} says: {name} applies."} for name in documents]
    context = " ".join(str(item["content"]) for item in items)
    return [
        agent(),
        Spec(
            type=StepType.RETRIEVAL,
            name="search_policies",
            parent=1,
            input={"query": "refunds", "top_k": top_k},
            output={"documents": [*items]},
        ),
        model([system(f"Answer from the policies.{note}"), user(f"Refund? {context}")], reply(answer)),
        output(answer),
    ]


def overridden_refund() -> list[Spec]:
    """The failing refund with an overridden tool output."""
    steps = failing_refund()
    result: JSONObject = {"state": "accepted"}
    before = cast(list[JSONObject], cast(JSONObject, steps[5].input)["messages"])
    steps[4] = replace(steps[4], output=result, status="ok", reason=Reason.OPERATOR_OVERRIDE)
    steps[5] = model([*before[:-1], tool_message("c2", result)], reply(CONFIRMATION))
    steps[6] = output(CONFIRMATION)
    return steps


def test_prompt_fix_is_named_with_its_effects() -> None:
    result = diff_of(failing_refund(), fixed_refund(), derived=True).attribution
    assert result.sentence == (
        "Adding “Amounts of issue_refund are in euros.” to the system prompt changed issue_refund's amount from 4200 "
        "to 42, so issue_refund succeeded instead of failing, "
        f"and the answer is now “{CONFIRMATION}” instead of “{REJECTION}”"
    )
    assert (result.verdict, result.confidence) == ("cause", "medium")
    assert result.primary is not None
    assert result.primary.category == "prompt"
    assert result.evidence[0] == "The prompt changed, so the model was asked something different."


def test_path_leads_through_call_to_answer() -> None:
    result = diff_of(failing_refund(), fixed_refund(), derived=True).attribution
    assert [(link.step.sequence_no, link.via) for link in result.path] == [
        (4, "cause"),
        (5, "tool_call_id"),
        (6, "tool_call_id"),
        (7, "text"),
    ]
    assert [(span.op, span.text) for span in result.path[0].note] == [
        ("equal", "+ "),
        ("insert", "“Amounts of issue_refund are in euros.”"),
        ("equal", "; so it "),
        ("equal", "requests issue_refund with "),
        ("equal", "amount "),
        ("delete", "4200"),
        ("equal", " → "),
        ("insert", "42"),
    ]
    assert {link.evidence for link in result.path} == {"inferred"}


def test_separate_recordings_have_low_confidence() -> None:
    result = diff_of(failing_refund(), fixed_refund()).attribution
    assert result.confidence == "low"
    assert result.sentence.startswith("Suspected, not proved: adding")
    assert any("chance" in line for line in result.evidence)


def test_reverted_change_reads_reversed() -> None:
    sentence = diff_of(fixed_refund(), failing_refund(), derived=True).attribution.sentence
    assert sentence.startswith(
        "Removing “Amounts of issue_refund are in euros.” from the system prompt changed issue_refund's"
    )
    assert "amount from 42 to 4200, so issue_refund failed instead of succeeding" in sentence


def test_overridden_tool_output_is_the_cause() -> None:
    result = diff_of(failing_refund(), overridden_refund(), derived=True).attribution
    assert result.primary is not None
    assert (result.primary.category, result.confidence) == ("tool", "medium")
    assert result.sentence == (
        "Changing issue_refund's state from refused to accepted changed the answer "
        f"from “{REJECTION}” to “{CONFIRMATION}”"
    )
    assert any("The fork overrides the output" in line for line in result.evidence)


def test_single_model_switch_is_the_cause() -> None:
    candidate = refund_run(
        prompt=PROMPT, amount=42, result={"state": "accepted"}, status="ok", final=CONFIRMATION, model_name="m2"
    )
    result = diff_of(failing_refund(), candidate, derived=True).attribution
    assert result.sentence.startswith("Switching the model from m1 to m2 changed issue_refund's amount from 4200 to 42")
    assert result.confidence == "medium"


def test_second_change_remains_an_alternative() -> None:
    candidate = refund_run(
        prompt=PROMPT + FIX, amount=42, result={"state": "accepted"}, status="ok", final=CONFIRMATION, model_name="m2"
    )
    result = diff_of(failing_refund(), candidate, derived=True).attribution
    assert result.primary is not None
    assert result.primary.category == "prompt"
    assert [cause.title for cause in result.alternatives] == ["Switching the model from m1 to m2"]
    assert result.confidence == "low"
    assert "with only this change" in result.cheapest_experiment


def test_changes_of_one_kind_are_inconclusive() -> None:
    def run(prompt: str, tools: list[JSONObject], answer: str) -> list[Spec]:
        asked_for = model([system(prompt), user("Refund?")], reply(answer))
        steps = cast(JSONObject, asked_for.input)
        return [agent(), replace(asked_for, input={**steps, "tools": [*tools]}), output(answer)]

    base = run("Be brief.", [{"name": "refund"}], "No.")
    candidate = run("Be kind.", [{"name": "refund"}, {"name": "cancel"}], "Gladly, yes.")
    result = diff_of(base, candidate, derived=True).attribution
    assert (result.verdict, result.primary) == ("inconclusive", None)
    assert len(result.alternatives) == 2
    assert result.cheapest_experiment


def test_resampled_answer_is_noise() -> None:
    result = diff_of(
        [agent(), model([user("Hi")], reply("Hello there.")), output("Hello there.")],
        [agent(), model([user("Hi")], reply("Good day to you.")), output("Good day to you.")],
    ).attribution
    assert (result.verdict, result.confidence) == ("noise", "noise")
    assert "answered the same request differently" in result.sentence
    assert "four times unchanged" in result.cheapest_experiment


def lookup_run(orders: tuple[str, ...], final: str) -> list[Spec]:
    """Consecutive lookups of orders."""
    history, steps = [system("Compare orders."), user("Which of A-1 and A-2 is the better one?")], [agent()]
    for order in orders:
        call, result = tool_call(f"c-{order}", "get_order", order_id=order), {"id": order}
        steps += [model(history, call), tool("get_order", f"c-{order}", {"order_id": order}, dict(result))]
        history = [*history, call, tool_message(f"c-{order}", dict(result))]
    return [*steps, model(history, reply(final)), output(final)]


@pytest.mark.parametrize("orders", [("A-2", "A-1"), ("A-2",)])
def test_resampled_later_request_is_noise(
    orders: tuple[str, ...],
) -> None:
    result = diff_of(
        lookup_run(("A-1", "A-2"), "Both are fine."), lookup_run(orders, "A-2 is the better one.")
    ).attribution
    assert (result.verdict, result.confidence) == ("noise", "noise")
    assert "Nothing recorded differs before step 2" in result.sentence


def test_unreached_change_is_ruled_out() -> None:
    side_call = tool("get_weather", "c9", {"city": "Bern"}, {"sky": "cloudy and rather grey"})
    other_call = replace(side_call, output={"sky": "a bright and cloudless blue"}, reason=Reason.OPERATOR_OVERRIDE)
    base, candidate = failing_refund(), fixed_refund()
    result = diff_of(
        [*base[:1], side_call, *base[1:]], [*candidate[:1], other_call, *candidate[1:]], derived=True
    ).attribution
    assert result.primary is not None
    assert result.primary.category == "prompt"
    assert any("get_weather" in line and "unreached" in line for line in result.evidence)
    assert result.confidence == "medium"


def test_change_without_effect_is_no_cause() -> None:
    base = refund_run(prompt=PROMPT, amount=42, result={"state": "accepted"}, status="ok", final=CONFIRMATION)
    result = diff_of(base, fixed_refund(), derived=True).attribution
    assert (result.verdict, result.primary) == ("no_effect", None)
    assert result.sentence == (
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


def test_call_ids_are_no_difference() -> None:
    def run(key: str) -> list[Spec]:
        first = [user("Where is A-1?")]
        return [
            agent(),
            model(first, tool_call(key, "get_order", id="A-1")),
            tool("get_order", key, {"id": "A-1"}, {"state": "shipped"}),
            model(
                [*first, tool_call(key, "get_order", id="A-1"), tool_message(key, {"state": "shipped"})],
                reply("Shipped."),
            ),
            output("Shipped."),
        ]

    assert diff_of(run("call_1"), run("call_2")).attribution.verdict == "no_difference"


def test_documents_precede_model_switch() -> None:
    base = retrieval_run("policy-3", "policy-4", answer="Within 30 days.")
    candidate = retrieval_run("policy-7", "policy-4", answer="Within 14 days.")
    candidate[1] = replace(candidate[1], reason=Reason.OPERATOR_OVERRIDE)
    candidate[2] = replace(candidate[2], model="m2")
    result = diff_of(base, candidate, derived=True).attribution
    assert result.primary is not None
    assert result.primary.category == "retrieval"
    assert result.sentence.startswith(
        "Suspected, not proved: retrieving “policy-7 says: policy-7 applies.” instead of “policy-3 says"
    )


def test_retrieval_setting_is_named() -> None:
    base = retrieval_run("policy-3", "policy-4", answer="Within 30 days.")
    candidate = retrieval_run("policy-3", answer="I do not know.", top_k=1)
    result = diff_of(base, candidate, derived=True).attribution
    assert result.sentence.startswith("Changing search_policies's top_k from 2 to 1")


def test_user_message_is_upstream() -> None:
    base = [agent(), model([user("Refund A-1")], reply("Done: A-1.")), output("Done: A-1.")]
    candidate = [agent(), model([user("Refund A-2")], reply("Done: A-2.")), output("Done: A-2.")]
    result = diff_of(base, candidate).attribution
    assert result.primary is not None
    assert result.primary.category == "upstream"
    assert "in the user's message" in result.sentence


def test_later_user_message_remains_open() -> None:
    def run(answer: str, reaction: str, final: str) -> list[Spec]:
        first = [user("Refund A-1")]
        return [
            agent(),
            model(first, reply(answer)),
            model([*first, reply(answer), user(reaction)], reply(final)),
            output(final),
        ]

    result = diff_of(
        run("No.", "Why not?", "It is too late."), run("Yes.", "Thank you!", "You are welcome.")
    ).attribution
    assert (result.verdict, result.confidence) == ("inconclusive", "low")
    assert [cause.title.partition(" at ")[0] for cause in result.alternatives] == [
        "A different answer of the model to the same request",
        "Changing “Why not?” to “Thank you!” in the user's message",
    ]
    assert "the user's different message before step 3" in result.sentence


def test_missing_data_flow_is_stated() -> None:
    def run(state: str, final: str) -> list[Spec]:
        return [
            agent(),
            tool("a", "c1", {"x": 1}, {"s": state}),
            Spec(type=StepType.OUTPUT, name="output", parent=1, input={"q": 1}, output={"text": final}),
        ]

    result = diff_of(run("on", "It is on now."), run("of", "Nothing to see.")).attribution
    assert result.confidence == "low"
    assert any("No recorded data flow" in line for line in result.evidence)


def test_missing_payload_is_a_gap() -> None:
    store = Store()
    base, candidate = side_of(failing_refund(), store), side_of(fixed_refund(), store)
    del store.values[base.steps[4].output_ref]
    report = report_of(base, candidate, store)
    assert any(
        "missing" in gap.reason and gap.base and gap.base.sequence_no == 5 for gap in report.sections.tool.unavailable
    )
    assert report.attribution.verdict == "cause"


def test_missing_system_prompt_is_a_gap() -> None:
    report = diff_of([agent(), model([user("Hi")], reply("Hello."))], [agent(), model([user("Hi")], reply("Hello."))])
    assert [gap.what for gap in report.sections.prompt.unavailable] == ["the system prompt"]


@pytest.mark.parametrize("derived", [True, False])
def test_swapped_runs_swap_the_report(derived: bool) -> None:
    def relations(report: DiffReport) -> set[tuple[int | None, int | None, str]]:
        numbers = [[side.sequence_no if side else None for side in (p.base, p.candidate)] for p in report.pairs]
        return {(base, candidate, p.relation) for (base, candidate), p in zip(numbers, report.pairs, strict=True)}

    swapped_report = {"added": "removed", "removed": "added"}
    longer = [*fixed_refund()[:-1], tool("notify", "c8", {"to": "A"}, {"sent": True}), fixed_refund()[-1]]
    mirrored_report, back = diff_of(failing_refund(), longer), diff_of(longer, failing_refund())
    assert relations(mirrored_report) == {(c, b, swapped_report.get(r, r)) for b, c, r in relations(back)}
    assert mirrored_report.deltas.steps == -back.deltas.steps


def test_model_switch_explains_unpaired_calls() -> None:
    def run(model_name: str, *answers: str) -> list[Spec]:
        request = [user("Where is it?")]
        steps = [
            model([*request, *map(reply, answers[:n])], reply(text), model=model_name) for n, text in enumerate(answers)
        ]
        return [agent(), *steps, output(answers[-1])]

    base = run("m1", "It is in the post now.")
    candidate = run("m2", "Let me look around first.", "It is in the post now, and due on Monday.")
    result = diff_of(base, candidate).attribution
    assert result.primary is not None
    assert result.primary.title == "Switching the model from m1 to m2"
    assert not result.alternatives


def test_sentence_has_one_full_stop() -> None:
    sentences = [
        diff_of(failing_refund(), fixed_refund(), derived=True).attribution.sentence,
        diff_of(failing_refund(), failing_refund()).attribution.sentence,
    ]
    assert [sentence[-2:] for sentence in sentences] == [".”", "s."]


def test_cause_is_not_repeated_as_effect() -> None:
    def run(place: str, final: str) -> list[Spec]:
        return [agent(), tool("search", "c1", {"input": place}, f"Here is all about {place}."), output(final)]

    result = diff_of(run("Bern", "Bern it is."), run("Oslo", "Oslo it is.")).attribution
    assert result.sentence.count("search's input") == 1


def test_template_and_variables_are_one_change() -> None:
    def run(template: str, city: str, final: str) -> list[Spec]:
        prompt_step = template.replace("{city}", city)
        prompt = Spec(
            type=StepType.PROMPT,
            name="ask",
            parent=1,
            input={"template": template, "variables": {"city": city}},
            output={"text": prompt_step},
        )
        return [agent(), prompt, model([user(prompt_step)], reply(final)), output(final)]

    base = run("What is the weather like in {city} today?", "Bern", "It rains in Bern.")
    result = diff_of(base, run("What is the time in {city} just now?", "Oslo", "Noon."), derived=True).attribution
    assert result.primary is not None
    assert "the prompt template" in result.primary.title
    only = diff_of(base, run("What is the weather like in {city} today?", "Oslo", "It snows up here."), derived=True)
    assert only.attribution.sentence.startswith("Changing the prompt's city from Bern to Oslo")


def test_request_ids_are_no_parameters() -> None:
    def asked_by(user_id: str, temperature: float) -> list[Spec]:
        call = model([user("Hi")], reply("Hello."), user=user_id, request_id=user_id, temperature=temperature)
        return [agent(), call, output("Hello.")]

    [changed] = diff_of(asked_by("ada", 0.0), asked_by("eve", 1.0)).sections.model.items
    assert [change.path for change in changed.values] == ["/temperature"]
    assert diff_of(asked_by("ada", 0.0), asked_by("eve", 0.0)).sections.model.items == []
