"""Changed documents and prompts reach the requests that contain them."""

import pytest

from replay.core.events import Event
from replay.overrides.policy import Policy
from tests.support.memory_replays import Replay, labels, replay, resolved_step
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType

DOCUMENTS: list[JSONValue] = [
    {"id": "a", "content": "Lost parcels are refunded within fourteen days after the report."},
    {"id": "b", "content": "Parcels above thirty kilograms travel with a freight carrier only."},
    {"id": "c", "content": "Gift cards can never be refunded once they have been activated."},
]
TEMPLATE = "Use these rules:\n{rules}\nAnswer as {role}."


def rules(documents: list[JSONValue]) -> str:
    return "\n".join(str(document["content"]) for document in documents if isinstance(document, dict))


def library() -> RecordedRun:
    """A retrieval, a prompt rendered from it, and a model that reads the prompt."""
    text = TEMPLATE.format(rules=rules(DOCUMENTS), role="a clerk")
    messages: list[JSONValue] = [{"role": "user", "content": text}]
    variables: JSONObject = {"rules": rules(DOCUMENTS), "role": "a clerk"}
    steps = (
        RecordedStep(
            key="r",
            type=StepType.RETRIEVAL,
            name="policies",
            input={"query": "refund", "top_k": 3},
            output={"documents": DOCUMENTS},
        ),
        RecordedStep(
            key="p",
            type=StepType.PROMPT,
            name="answer",
            input={"template": TEMPLATE, "variables": variables},
            output={"text": text},
        ),
        RecordedStep(
            key="m",
            type=StepType.MODEL,
            name="m1",
            model="m1",
            input={"messages": messages},
            output={"message": {"role": "assistant", "content": "You get a refund within fourteen days."}},
        ),
    )
    return RecordedRun(external_id="library", name="library", app="library", format="test", steps=steps)


def changed(entry: JSONValue) -> list[Event]:
    return Replay(run=library(), fork=1, entries=[entry], policy=Policy()).execute(lambda call: {"content": "new"})


def model_messages(events: list[Event]) -> JSONValue:
    input = resolved_step(events, 3).call.input
    assert isinstance(input, dict)
    return input["messages"]


def test_lower_top_k_cuts_documents() -> None:
    events = changed({"match": {"type": "retrieval"}, "retrieval": {"top_k": 1}})
    retrieval = resolved_step(events, 1).answer
    assert retrieval.output == {"documents": DOCUMENTS[:1]}
    assert labels(events) == {
        1: "simulated simulation_operator_override",
        2: "simulated derived",
        3: "simulated live_model_call",
    }
    assert "freight carrier" not in str(model_messages(events))
    assert "fourteen days" in str(model_messages(events))


def test_higher_top_k_has_no_answer() -> None:
    events = changed({"match": {"type": "retrieval"}, "retrieval": {"top_k": 9}})
    assert labels(events)[1] == "simulated simulation_policy_fallback"


def test_override_documents_replace_recorded_ones() -> None:
    new: JSONValue = [{"id": "z", "content": "Nothing is ever refunded at all in this shop."}]
    events = changed({"match": {"step": 1}, "retrieval": {"documents": new}})
    assert "Nothing is ever refunded" in str(model_messages(events))
    assert "Gift cards" not in str(model_messages(events))


def test_rendered_template_reaches_model() -> None:
    events = changed({"match": {"type": "prompt"}, "prompt": {"template": "{rules}\nBe kind, {role}!"}})
    text = f"{rules(DOCUMENTS)}\nBe kind, a clerk!"
    assert resolved_step(events, 2).answer.output == {"text": text}
    assert model_messages(events) == [{"role": "user", "content": text}]


def test_variable_fills_recorded_template() -> None:
    variables: JSONValue = {"rules": rules(DOCUMENTS), "role": "a judge"}
    events = changed({"match": {"type": "prompt"}, "prompt": {"variables": variables}})
    assert "Answer as a judge." in str(model_messages(events))
    assert labels(events)[1] == "exact source_output_reused"


def test_other_variables_keep_their_values() -> None:
    events = changed({"match": {"type": "prompt"}, "prompt": {"variables": {"role": "a judge"}}})
    assert str(resolved_step(events, 2).answer.output).count("a judge") == 1
    assert rules(DOCUMENTS)[:40] in str(resolved_step(events, 2).call.input)
    assert "{rules}" not in str(model_messages(events))


def ticket_prompt(*, has_input: bool = True) -> RecordedRun:
    """A model's JSON answer, a prompt that contains one of its fields, and a model that reads the prompt."""
    answer: JSONObject = {"message": {"role": "assistant", "content": '{"queue": "spam", "urgent": false}'}}
    prompt: JSONObject = {
        "template": "Write to the {queue} desk of {city}.",
        "variables": {"queue": "spam", "city": "Bern"},
    }
    text = "Write to the spam desk of Bern."
    steps = (
        RecordedStep(key="s", type=StepType.MODEL, name="sort", model="m1", input={"messages": []}, output=answer),
        RecordedStep(
            key="p",
            type=StepType.PROMPT,
            name="letter",
            input=prompt if has_input else None,
            output={"text": text},
        ),
        RecordedStep(
            key="w",
            type=StepType.MODEL,
            name="write",
            model="m1",
            input={"messages": [{"role": "user", "content": text}]},
            output={"message": {"role": "assistant", "content": "Dear desk"}},
        ),
    )
    return RecordedRun(external_id="t", name="tickets", app="tickets", format="test", steps=steps)


@pytest.mark.parametrize(
    ("variables", "label"),
    [
        ({}, "simulated simulation_policy_fallback"),
        ({"city": "Rome"}, "simulated simulation_policy_fallback"),
        ({"queue": "sales"}, "simulated simulation_operator_override"),
    ],
)
def test_prompt_with_an_unknown_value_is_not_rendered(variables: JSONObject, label: str) -> None:
    """The new answer has no field `queue`, so that only an override of this variable makes the prompt known."""
    entries: list[JSONValue] = [{"match": {"step": 1}, "output": "No idea."}]
    if variables:
        entries.append({"match": {"step": 2}, "prompt": {"variables": variables}})
    labels_by_step = labels(replay(*entries, run=ticket_prompt()).execute())
    assert labels_by_step[2] == label
    assert not labels_by_step[3].startswith("exact")


def test_variable_of_a_prompt_with_unrecorded_input_is_not_ignored() -> None:
    entry: JSONValue = {"match": {"step": 2}, "prompt": {"variables": {"city": "Rome"}}}
    labels_by_step = labels(replay(entry, run=ticket_prompt(has_input=False)).execute())
    assert labels_by_step[2] == "simulated simulation_policy_fallback"
