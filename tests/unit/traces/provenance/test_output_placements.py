"""Whole outputs in a conversation are consumed only by their own message."""

import tracemalloc
from collections.abc import Sequence

import pytest

from replay.core.applied_profile import AppliedProfile, apply_profile
from replay.core.plan import Plan
from replay.overrides.policy import Policy
from replay.overrides.profile import OverrideProfile
from replay.planning.plan_environment import Sources
from replay.planning.planner import plan
from tests.support.replay_runs import graph_of
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import EdgeKind, StepType
from traces.payloads.splitter import Splitter
from traces.provenance.edge_facts import EdgeFact
from traces.provenance.edges import find_provenance
from traces.provenance.output_placements import Placements
from traces.provenance.step_outputs import StepFacts

SHIPPED_ORDER = "Your order 4711 is on its way. Is there anything else that I can do for you today?"
REPEATED_PHRASE = (SHIPPED_ORDER, "Order 4711 is on its way.", f"As I wrote: {SHIPPED_ORDER}")


def _message(role: str, text: str) -> JSONObject:
    return {"role": role, "content": text}


def _model(key: str, messages: Sequence[JSONValue], answer: str) -> RecordedStep:
    return RecordedStep(
        key=key,
        type=StepType.MODEL,
        name="desk",
        provider="p",
        model="m",
        input={"messages": [*messages]},
        output={"message": _message("assistant", answer)},
    )


def _nine_turns(*recorded_turns: int) -> RecordedRun:
    """A conversation of nine turns with only some recorded model calls."""
    messages: list[JSONValue] = [_message("system", "You are the order desk of a shop.")]
    steps: list[RecordedStep] = []
    for turn in range(1, 10):
        messages.append(
            _message("user", "Where is order 4711?" if turn == 1 else f"And what about it, attempt {turn}?")
        )
        answer = REPEATED_PHRASE[(turn - 1) % len(REPEATED_PHRASE)]
        if turn in recorded_turns:
            steps.append(_model(f"turn{turn}", messages, answer))
        messages.append(_message("assistant", answer))
    return RecordedRun(external_id="r", name="r", app="a", format="test", steps=tuple(steps))


def _edges(run: RecordedRun) -> list[EdgeFact]:
    facts = [
        StepFacts(no=no, type=step.type, input=step.input, output=step.output, call_id=step.call_id)
        for no, step in enumerate(run.steps, 1)
    ]
    return [*find_provenance(facts, Splitter()).edges]


def _plan(run: RecordedRun, answer: str) -> Plan:
    graph, payloads = graph_of(run)
    entry: JSONObject = {"match": {"step": 1}, "output": answer}
    profile: AppliedProfile = apply_profile(OverrideProfile.model_validate({"overrides": [entry]}), graph)
    sources = Sources(
        payload=payloads.__getitem__, cached=lambda *_: None, provider=lambda *_: None, price=lambda *_: None
    )
    return plan(graph, profile, Policy(), sources)


@pytest.mark.parametrize("recorded_turns", [(1, 9), (1, 4, 9), tuple(range(1, 10))])
def test_repeated_assistant_phrases_are_no_edges(recorded_turns: tuple[int, ...]) -> None:
    edges = _edges(_nine_turns(*recorded_turns))
    assert {edge.kind for edge in edges} == {EdgeKind.HISTORY}


def test_unrecorded_answers_leave_input_known() -> None:
    last = _plan(_nine_turns(1, 9), "I cannot find that.").steps[-1]
    assert last.differs == ["messages"]
    assert last.because == [1]
    assert "is not known" not in last.note


def _desk_call(id: str, result: JSONValue) -> RecordedStep:
    return RecordedStep(key=f"{id}{result}", type=StepType.TOOL, name="get_order", call_id=id, input={}, output=result)


def _asks(id: str) -> JSONObject:
    call: JSONValue = {"id": id, "name": "get_order", "arguments": {}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _answers(id: str, text: str) -> JSONObject:
    return {"role": "tool", "tool_call_id": id, "content": text}


def test_text_before_result_is_no_consumer() -> None:
    messages = [
        _message("system", "Orders are available for 100 days. Today is 2031-04-02."),
        _message("user", "Is W-2201 available?"),
        _asks("c1"),
        _answers("c1", '{"id": "W-2201"}'),
        _message("assistant", "W-2201 is there."),
        _message("user", "And the price of W-2201?"),
    ]
    result: JSONValue = {"id": "W-2201", "state": "available", "days": 100, "on": "2031-04-02"}
    run = RecordedRun(
        external_id="r",
        name="r",
        app="a",
        format="test",
        steps=(_desk_call("c1", result), _model("last", messages, "12 dollars")),
    )
    assert {edge.consumer_path for edge in _edges(run)} == {"/messages/3/content", "/messages/5/content"}


def test_rendered_system_message_keeps_its_ids() -> None:
    messages = [_message("system", "The customer is CUST-20931."), _asks("c1"), _answers("c1", "{}")]
    run = RecordedRun(
        external_id="r",
        name="r",
        app="a",
        format="test",
        steps=(_desk_call("c1", {"id": "CUST-20931"}), _model("last", messages, "Hello")),
    )
    assert "/messages/0/content" in {edge.consumer_path for edge in _edges(run)}


def test_repeated_call_ids_match_in_order() -> None:
    messages = [_asks("c1"), _answers("c1", "one"), _asks("c1"), _answers("c1", "two")]
    run = RecordedRun(
        external_id="r",
        name="r",
        app="a",
        format="test",
        steps=(_desk_call("c1", "one"), _desk_call("c1", "two"), _model("last", messages, "Hello")),
    )
    places = {(edge.producer, edge.consumer_path) for edge in _edges(run)}
    assert places == {(1, "/messages/1/content"), (2, "/messages/3/content")}


def test_prefilled_answer_is_consumed() -> None:
    other_agent = "The parcel was lost by northern parcels last week, and the customer wants a refund."
    messages = [_message("user", "Write to them."), _message("assistant", f"Planner: {other_agent}")]
    run = RecordedRun(
        external_id="r",
        name="r",
        app="a",
        format="test",
        steps=(
            _model("plan", [_message("user", "What happened?")], other_agent),
            _model("write", messages, "Dear all"),
        ),
    )
    assert {(edge.producer, edge.consumer_path) for edge in _edges(run)} == {(1, "/messages/1/content")}


def test_conversation_that_is_put_aside_takes_little_memory_and_can_be_continued() -> None:
    tracemalloc.start()
    try:
        placements = Placements()
        for number in range(256):
            placements.add(number, number + 1)
        placements.put_aside()
        assert tracemalloc.get_traced_memory()[0] < 4_000
    finally:
        tracemalloc.stop()
    continued = placements.branch_at(300, 400)
    assert continued.hides(7, 3, "user", "4711")
    assert not continued.hides(7, 9, "user", "4711")
    branch = continued.branch_at(100, 200)
    assert [branch.hides(step, 1, "user", "4711") for step in (98, 99)] == [True, False]
