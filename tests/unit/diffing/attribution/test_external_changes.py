"""Changes of the environment: of a call that is repeated, of a field that code reports, and of a document."""

import pytest

from diffing.attribution.difference_origins import Origin
from tests.support.comparing import (
    Spec,
    agent,
    diff_of,
    model,
    output,
    reply,
    system,
    tool,
    tool_call,
    tool_message,
    user,
)
from tests.unit.diffing.attribution.test_difference_origins import open_atoms, reason_about
from traces.core.json_types import JSONObject
from traces.core.vocabulary import StepType


def schedule(quota: int, feedback: str, answer: str) -> list[Spec]:
    """Code looks into a calendar after each answer, and returns what it finds to the model."""
    request = [system("Plan."), user("A backup on Tuesday, please.")]
    calendar = tool("calendar", "", {"day": "Tuesday"}, {"busy_to": 4, "quota": quota})
    history = [*request, reply("at 2, keep 7"), user(feedback)]
    return [agent(), model(request, reply("at 2, keep 7")), calendar, model(history, reply(answer)), calendar]


def test_same_answer_to_a_repeated_call_is_one_change() -> None:
    base, candidate = schedule(7, "error: busy until 4", "at 4"), schedule(3, "error: busy until 4", "at 4")
    atoms = open_atoms(reason_about([*base, output("at 4")], [*candidate, output("at 4, keep 3")]))
    assert [(atom.category, len(atom.places)) for atom in atoms if atom.pair.step.type == StepType.TOOL] == [
        ("tool", 2)
    ]


@pytest.mark.parametrize(("line", "origin"), [("above the quota of 3", Origin.DERIVED), ("and hurry", Origin.OPEN)])
def test_message_that_names_a_changed_field_is_an_effect(line: str, origin: Origin) -> None:
    base = schedule(7, "error: busy until 4", "at 4")
    candidate = schedule(3, f"error: busy until 4\n{line}", "at 4, keep 3")
    result = reason_about([*base, output("at 4")], [*candidate, output("at 4, keep 3")])
    assert [atom.origin for atom in open_atoms(result) if atom.category == "upstream"] == [origin]


@pytest.mark.parametrize(
    ("text", "is_edit"),
    [("Birch grants 45,000 euros for a roof.", True), ("Applications close in May, by letter only.", False)],
)
def test_edited_document_is_a_change_besides_the_query(text: str, *, is_edit: bool) -> None:
    """The same document for another query: its text was edited, or the search quotes another passage of it."""

    def search(greeting: str, text: str, answer: str) -> list[Spec]:
        task = f"{greeting} Who pays for a roof?"
        found: JSONObject = {"documents": [{"id": "birch", "content": text}]}
        step = Spec(type=StepType.RETRIEVAL, name="search", parent=1, input={"query": task}, output=found)
        return [agent(), step, model([system("Answer."), user(f"{task}\n{text}")], reply(answer)), output(answer)]

    base = search("Hello.", "Birch grants 25,000 euros for a roof.", "25,000 euros")
    atoms = open_atoms(reason_about(base, search("Good day.", text, "Another answer")))
    documents = [atom.origin for atom in atoms if atom.facet is not None and atom.facet.kind == "documents"]
    assert documents == [Origin.OPEN] * is_edit


def test_model_switch_precedes_calls_of_unrecorded_requests() -> None:
    """Some recorders list the calls of a turn and then its answer, without the requests in between."""
    history = [user("Where is it?"), tool_call("c1", "track", id=7), tool_message("c1", "on a truck")]
    base = [
        agent(),
        tool("track", "c1", {"id": 7}, "on a truck"),
        model(history, reply("On a truck.")),
        output("On a truck."),
    ]
    candidate = [agent(), model(history[:1], reply("I cannot tell."), model="m2"), output("I cannot tell.")]
    for report in (diff_of(base, candidate), diff_of(candidate, base)):
        primary = report.attribution.primary
        assert primary is not None
        assert (primary.category, report.attribution.confidence) == ("model", "low")


def test_report_lists_each_reworded_message_and_keeps_added_ones_together() -> None:
    def run(code: str, question: str, *more: str) -> list[Spec]:
        example = [user("The printer smells."), reply(code), *map(user, more)]
        return [agent(), model([system("Use the examples."), *example, user(question)], reply(code))]

    candidate = run("T-999", "My screen hums.", "The disk is full.", "The fan is loud.")
    result = reason_about(run("T-303", "My printer hums."), candidate)
    assert sorted((atom.category, len(atom.facet.messages)) for atom in open_atoms(result) if atom.facet) == [
        ("prompt", 1),
        ("upstream", 1),
        ("upstream", 2),
    ]
    many = [f"Line {number}" for number in range(20)]
    long_result = reason_about(run("T-303", "Go.", *many), run("T-999", "Stop.", *(f"{line}." for line in many)))
    assert [len(atom.facet.messages) for atom in open_atoms(long_result) if atom.facet] == [22]
