"""The final answers at the top of a report, and their place in its sections."""

from dataclasses import replace

from diffing.schemas.report import FinalAnswers
from tests.support.comparing import (
    CONFIRMATION,
    REJECTION,
    Spec,
    agent,
    diff_of,
    failing_refund,
    fixed_refund,
    model,
    reply,
    tool_call,
    user,
)
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import Reason, StepType

QUESTION = "Which band sang Sugar?"


def session(answer: JSONObject, *, turn: str = "") -> list[Spec]:
    """A session as Kurral records it: turns with model calls, and no output step."""
    output: JSONObject | None = {"text": turn} if turn else None
    return [
        agent(),
        Spec(type=StepType.TURN, name="turn", parent=1, input={"message": QUESTION}, output=output),
        replace(model([user(QUESTION)], answer), parent=2),
    ]


def test_answers_come_from_the_output_step() -> None:
    report = diff_of(failing_refund(), fixed_refund(), derived=True)
    assert report.answers == FinalAnswers(base=REJECTION, candidate=CONFIRMATION)


def test_equal_answers_are_shown() -> None:
    report = diff_of(failing_refund(), failing_refund(), derived=True)
    assert report.answers == FinalAnswers(base=REJECTION, candidate=REJECTION)


def test_step_that_did_not_run_has_no_answer() -> None:
    candidate = fixed_refund()
    candidate[-1] = replace(candidate[-1], reason=Reason.POLICY_FALLBACK)
    answers = diff_of(failing_refund(), candidate, derived=True).answers
    assert answers == FinalAnswers(base=REJECTION, candidate=None)


def test_answer_of_a_model_is_in_the_output_section() -> None:
    report = diff_of(session(reply("Maroon 5 sang it.")), session(reply("I don't know that song.")))
    assert report.sections.output.summary.startswith("The final answers")
    [item] = report.sections.output.items
    assert (item.kind, item.similarity is not None) == ("final answer", True)
    assert "completion" not in {item.kind for item in report.sections.model.items}
    assert report.answers == FinalAnswers(base="Maroon 5 sang it.", candidate="I don't know that song.")


def test_output_section_is_never_empty_beside_different_answers() -> None:
    calls = tool_call("c1", "search", query="Sugar")
    report = diff_of(session(reply("Maroon 5 sang it.")), session(calls))
    assert "differ" in report.sections.output.summary
    assert {item.kind for item in report.sections.output.items} >= {"final answer", "tool calls"}


def test_citations_in_another_order_are_the_same_answer() -> None:
    orders: tuple[list[JSONValue], ...] = (["d1", "d2"], ["d2", "d1"])
    base, candidate = (
        [agent(), Spec(type=StepType.OUTPUT, name="output", parent=1, output={"text": "Yes.", "citations": order})]
        for order in orders
    )
    report = diff_of(base, candidate)
    assert report.sections.output.summary == "The final answers are the same."


def test_answer_of_a_longer_run_is_its_own_last() -> None:
    call = tool_call("c1", "search", query="Sugar")
    longer = [*session(call), replace(model([user(QUESTION), user("Nothing.")], reply("I don't know.")), parent=2)]
    report = diff_of(session(reply("Maroon 5 sang it.")), longer)
    assert report.answers == FinalAnswers(base="Maroon 5 sang it.", candidate="I don't know.")


def test_similarity_is_that_of_each_runs_last_answer() -> None:
    """The last model step of the base is paired; the candidate goes on after that."""
    base = [agent(), model([user(QUESTION)], reply("Maroon 5 sang it."))]
    further = model([user(QUESTION), reply("Maroon 5 sang it."), user("Thanks.")], reply("You are welcome."))
    report = diff_of(base, [*base, further])
    assert report.scores.output_similarity < 1
    assert "differ" in report.sections.output.summary


def test_answer_of_one_run_is_in_the_output_section() -> None:
    report = diff_of([agent()], session(reply("Maroon 5 sang it.")))
    assert report.sections.output.summary == "Only the candidate has a final answer."
    assert [item.relation for item in report.sections.output.items] == ["added"]
    assert report.answers == FinalAnswers(base=None, candidate="Maroon 5 sang it.")
