"""Witness runs: which content of an input is configuration."""

from uuid import uuid4

import pytest

from replay.core.graph import Node
from replay.inputs.changes import Change
from replay.inputs.witnesses import WitnessStep, is_configuration, places, witness
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepType
from traces.provenance.input_origins import UnexplainedContent


def step(no: int, name: str, output_ref: str, *digests: str) -> WitnessStep:
    return WitnessStep(no=no, type="model", name=name, output_ref=output_ref, digests=digests)


def test_witness_outputs_are_filed_by_place() -> None:
    """The second call of a role is the same place, whatever its number."""
    own = [step(1, "router", "a"), step(2, "writer", "b"), step(3, "writer", "c")]
    other = [step(1, "router", "x"), step(2, "planner", "y"), step(3, "writer", "z"), step(5, "writer", "w")]
    result = witness(other, places(own))
    assert result.outputs == {1: "x", 2: "z", 3: "w"}


def test_witness_contents_have_the_step_in_which_they_appear_first() -> None:
    result = witness(
        [step(1, "router", "a", "d1", "d2"), step(2, "writer", "b", "d3"), step(3, "writer", "c", "d3")], {}
    )
    assert result.contents == {("model", "router", "d1"): 1, ("model", "router", "d2"): 1, ("model", "writer", "d3"): 2}


@pytest.mark.parametrize(
    ("other_steps", "is_shown"),
    [
        ([step(1, "router", "shipping"), step(2, "writer", "", "tone")], True),
        ([step(1, "router", "shipping"), step(2, "writer", "")], False),
        ([step(1, "router", "Billing!"), step(2, "writer", "", "tone")], False),
        # A later turn of the other run had the recorded answer, before or after the content appeared.
        ([step(1, "router", "shipping"), step(2, "router", "billing"), step(3, "writer", "", "tone")], False),
        ([step(1, "router", "shipping"), step(2, "router", "Billing."), step(3, "writer", "", "tone")], False),
        ([step(1, "router", "shipping"), step(2, "writer", "", "tone"), step(3, "router", "billing")], True),
    ],
)
def test_other_runs_show_what_is_configuration(other_steps: list[WitnessStep], is_shown: bool) -> None:
    router = Node(id=uuid4(), no=1, type=StepType.MODEL, name="router", output_ref="billing")
    writer = Node(id=uuid4(), no=2, type=StepType.MODEL, name="writer")
    change = Change(node=router, original=_answer("billing"), current=_answer("legal"))
    item = UnexplainedContent(path="/messages/0/content", first_step=2, snippet="Be kind.", digest="tone")
    other = witness(other_steps, {("model", "router", 1): 1})
    assert is_configuration(writer, item, change, (other,), _answer) is is_shown


@pytest.mark.parametrize(
    ("other_answer", "text", "is_shown"),
    [
        ("It is in a van.", "Handle: warehouse.", True),
        ("It is in our warehouse.", "Handle: warehouse.", False),
        # Code cut the answer off.
        ("It is in our warehouse.", "Handle: It waits in our ware", False),
        ("It is in our warehouse.", "Handle: house.", False),
        ("It is in a van.", "in", False),
        ("It is in a van.", "Handle this in time: urgent.", True),
    ],
)
def test_word_that_both_answers_have_may_be_the_source(other_answer: str, text: str, is_shown: bool) -> None:
    """Code wrote a word of the answer into the next request."""
    desk = Node(id=uuid4(), no=1, type=StepType.MODEL, name="desk", output_ref="It waits in our warehouse.")
    writer = Node(id=uuid4(), no=2, type=StepType.MODEL, name="writer", input_ref="request")
    change = Change(node=desk, original=_answer(desk.output_ref), current=_answer("Nothing is known."))
    item = UnexplainedContent(path="/messages/0/content", first_step=2, snippet=text, digest="d")

    def payload(ref: str) -> JSONValue:
        return {"messages": [{"role": "user", "content": text}]} if ref == "request" else _answer(ref)

    for answers in ([other_answer], ["Nothing else.", other_answer]):
        steps = [*(step(no, "desk", answer) for no, answer in enumerate(answers, 1)), step(9, "writer", "", "d")]
        other = witness(steps, {("model", "desk", 1): 1})
        assert is_configuration(writer, item, change, (other,), payload) is is_shown


def test_number_may_be_computed_from_one_that_both_answers_have() -> None:
    """Both other answers have the order that the changed one had, and code made the same number from it."""
    desk = Node(id=uuid4(), no=1, type=StepType.MODEL, name="desk", output_ref="A-1042 is lost.")
    writer = Node(id=uuid4(), no=2, type=StepType.MODEL, name="writer", input_ref="request")
    item = UnexplainedContent(path="/messages/0/content", first_step=2, snippet="1042000 g", digest="d")
    others = [
        witness([step(1, "desk", ref), step(2, "writer", "", "d")], {("model", "desk", 1): 1})
        for ref in ("A-1042 is late.", "We wait for A-1042.")
    ]

    def payload(ref: str) -> JSONValue:
        return {"messages": [{"role": "user", "content": "1042000 g"}]} if ref == "request" else _answer(ref)

    for current, is_shown in (("C-300 is lost.", False), ("A-1042 is found.", True)):
        change = Change(node=desk, original=_answer(desk.output_ref), current=_answer(current))
        assert is_configuration(writer, item, change, (*others,), payload) is is_shown


@pytest.mark.parametrize(
    ("text", "count", "is_shown"),
    [
        ("301", 1, False),
        (301, 1, False),
        ("page 301", 1, False),
        ("page 301", 2, True),
        (301, 2, True),
        ("page", 1, True),
    ],
)
def test_number_may_be_equal_by_chance(text: str | int, count: int, is_shown: bool) -> None:
    desk = Node(id=uuid4(), no=1, type=StepType.MODEL, name="desk", output_ref="C-300 is lost.")
    writer = Node(id=uuid4(), no=2, type=StepType.MODEL, name="writer", input_ref="request")
    change = Change(node=desk, original=_answer(desk.output_ref), current=_answer("Nothing is known."))
    item = UnexplainedContent(path="/messages/0/content", first_step=2, snippet=str(text), digest="d")
    others = [witness([step(1, "desk", ref), step(2, "writer", "", "d")], {("model", "desk", 1): 1}) for ref in "ab"]

    def payload(ref: str) -> JSONValue:
        return {"messages": [{"role": "user", "content": text}]} if ref == "request" else _answer(ref)

    assert is_configuration(writer, item, change, (*others[:count],), payload) is is_shown


def _answer(content: str) -> JSONValue:
    return {"message": {"role": "assistant", "content": content}}
