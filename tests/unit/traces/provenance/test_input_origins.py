"""Origins of input content."""

import pytest

from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepType
from traces.payloads.splitter import Splitter
from traces.provenance.edges import find_provenance
from traces.provenance.input_origins import MAX_ITEMS, UnexplainedContent, from_json, newest
from traces.provenance.step_outputs import StepFacts


def _model(no: int, *messages: tuple[str, str], says: str = "Done.", **request: JSONValue) -> StepFacts:
    turns: list[JSONValue] = [{"role": role, "content": text} for role, text in messages]
    return StepFacts(
        no=no,
        type=StepType.MODEL,
        input={"messages": turns, **request},
        output={"message": {"role": "assistant", "content": says}},
    )


def _first_steps(*steps: StepFacts) -> dict[int, dict[str, int]]:
    """The first step of unexplained content, by step and path."""
    rest = find_provenance(steps, Splitter()).unexplained_inputs
    return {no: {item.path: item.first_step for item in items} for no, items in rest.items()}


def test_first_inputs_appear_in_the_first_step() -> None:
    assert _first_steps(_model(1, ("system", "Be brief."), ("user", "Hello"))) == {
        1: {"/messages/0/content": 1, "/messages/1/content": 1}
    }


def test_repeated_prompt_keeps_its_first_step() -> None:
    prompt = ("system", "You sort tickets into queues.")
    rest = _first_steps(_model(1, prompt, ("user", "one thing")), _model(2, prompt, ("user", "other thing")))
    assert rest[2] == {"/messages/0/content": 1, "/messages/1/content": 2}


def test_configuration_is_named_instead_of_its_digest() -> None:
    step = _model(1, ("user", "Hello there"), tools=[{"name": "find"}])
    snippets = {item.path: item.snippet for item in find_provenance([step], Splitter()).unexplained_inputs[1]}
    assert snippets == {"/messages/0/content": "Hello there", "/tools": "tools"}


def test_traced_value_leaves_template_text() -> None:
    steps = [_model(1, ("user", "Hello"), says="billing"), _model(2, ("user", "Answer briefly as the billing desk."))]
    (item,) = find_provenance(steps, Splitter()).unexplained_inputs[2]
    assert item.snippet == "Answer briefly as the…desk."


def test_template_repeats_with_another_value() -> None:
    steps = [
        _model(1, ("user", "Hello"), says="billing"),
        _model(2, ("user", "Answer briefly as the billing desk.")),
        _model(3, ("user", "Hello"), says="shipping"),
        _model(4, ("user", "Answer briefly as the shipping desk.")),
    ]
    assert _first_steps(*steps)[4] == {"/messages/0/content": 2}


@pytest.mark.parametrize(
    ("text", "remainder"),
    [
        ('"billing".', ""),
        ("- billing\n", ""),
        ("Urgent: billing", "Urgent:…"),
        ("billing 3", "…3"),
        ("★★ billing", "★★…"),
        ("★★", "★★"),
        ("{", "{"),
    ],
)
def test_all_but_punctuation_around_values_is_content(text: str, remainder: str) -> None:
    steps = [_model(1, ("user", "Hello"), says="billing"), _model(2, ("user", text))]
    items = find_provenance(steps, Splitter()).unexplained_inputs[2]
    assert [item.snippet for item in items] == ([remainder] if remainder else [])


def test_history_and_its_answer_are_explained() -> None:
    first = _model(1, ("user", "Hello there"), says="Good morning")
    second = _model(2, ("user", "Hello there"), ("assistant", "Good morning"), ("user", "And now?"))
    assert _first_steps(first, second)[2] == {"/messages/2/content": 2}


def test_parameters_are_content() -> None:
    steps = [_model(no, ("user", "Hi you"), parameters={"temperature": heat}) for no, heat in ((1, 0), (2, 1), (3, 0))]
    assert [rest["/parameters"] for rest in _first_steps(*steps).values()] == [1, 2, 1]


def test_arguments_of_a_call_are_explained() -> None:
    call: JSONValue = {"id": "c1", "name": "look", "arguments": {"id": "A-1"}}
    model = StepFacts(no=1, type=StepType.MODEL, input={"messages": []}, output={"message": {"tool_calls": [call]}})
    tool = StepFacts(no=2, type=StepType.TOOL, input={"id": "A-1", "tenant": "north"}, output="x", call_id="c1")
    assert _first_steps(model, tool)[2] == {"/tenant": 2}


def test_empty_values_that_code_wrote_are_content() -> None:
    """Code found nothing in an answer, and might find something in another one."""
    arguments: JSONValue = {"ids": [], "first": None, "query": "", "filters": {"days": {}}, "documents": []}
    step = StepFacts(no=2, type=StepType.TOOL, input=arguments, output="x")
    assert _first_steps(_model(1, ("user", "Hello")), step)[2] == {
        "/documents": 2,
        "/filters/days": 2,
        "/first": 2,
        "/ids": 2,
        "/query": 2,
    }


def test_empty_values_that_a_model_wrote_are_explained() -> None:
    call: JSONValue = {"id": "c1", "name": "find", "arguments": {"ids": [], "first": None}}
    model = StepFacts(no=1, type=StepType.MODEL, input={"messages": []}, output={"message": {"tool_calls": [call]}})
    step = StepFacts(no=2, type=StepType.TOOL, call_id="c1", input={"ids": [], "first": None, "by": ""}, output="x")
    assert _first_steps(model, step)[2] == {"/by": 2}


def test_unrecorded_input_is_unexplained() -> None:
    steps = [StepFacts(no=1, type=StepType.PLANNER, input=None, output="x")]
    (item,) = find_provenance(steps, Splitter()).unexplained_inputs[1]
    assert item == UnexplainedContent(path="", first_step=1, snippet="its input was not recorded", digest=item.digest)


def test_stored_content_keeps_first_step() -> None:
    prompt = ("system", "Answer in verse.")
    whole = [_model(1, ("user", "Hello you")), _model(2, prompt, ("user", "One")), _model(3, prompt, ("user", "Two"))]
    stored_content = find_provenance(whole, Splitter()).unexplained_inputs
    steps = [StepFacts(no=step.no, type=step.type, input=None, output=step.output) for step in whole[:2]]
    provenance = find_provenance(
        [*steps, whole[2]], Splitter(), includes=lambda no: no == 3, stored_content=stored_content
    )
    assert provenance.unexplained_inputs == {3: stored_content[3]}
    assert [item.first_step for item in stored_content[3]] == [2, 3]


def test_items_survive_storage() -> None:
    items = find_provenance([_model(1, ("user", "Hello you"))], Splitter()).unexplained_inputs[1]
    assert from_json([item.as_json() for item in items]) == items


def test_newest_items_are_retained() -> None:
    items = [UnexplainedContent(path=f"/{at}", first_step=at % 50, snippet="", digest="") for at in range(100)]
    assert len(newest(items)) == MAX_ITEMS
    assert min(item.first_step for item in newest(items)) == 34
