"""Output and label that a container gets when it closes."""

from dataclasses import replace

import pytest
from hypothesis import given, settings

from replay.core.events import ContainerClosed, Event, StepResolved, StepSkipped
from replay.inputs.texts import has_words
from tests.support.agent_runs import ANSWER, RESEARCH, SUB_AGENT, agent_run
from tests.support.memory_replays import Replay, labels, replay
from tests.unit.replay.loops.test_subagents import number
from tests.unit.replay.planning.test_planner import forks, many, same_calls
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import Label, Reason, StepType
from traces.payloads.lost_payloads import Loss, LostPayload
from traces.payloads.messages import ModelAnswer

few_examples = settings(many, max_examples=60)
HOLDERS = {StepType.AGENT, StepType.TURN}
NEW_ANSWER = "Nobody has measured it."


def output_override(text: str) -> JSONObject:
    return {"output": text}


def ends(events: list[Event]) -> dict[int, ContainerClosed]:
    return {event.node.no: event for event in events if isinstance(event, ContainerClosed)}


def with_step(run: RecordedRun, key: str, **columns: object) -> RecordedRun:
    return replace(run, steps=tuple(replace(step, **columns) if step.key == key else step for step in run.steps))  # type: ignore[arg-type]


def agent_around(*steps: RecordedStep, output: JSONValue = None) -> RecordedRun:
    agent = RecordedStep(key="agent", type=StepType.AGENT, name="agent", input={"task": "look"}, output=output)
    children = (replace(step, parent=step.parent or "agent") for step in steps)
    return RecordedRun(external_id="one", name="one", app="one", format="test", steps=(agent, *children))


def model_step(key: str, question: str, answer: str) -> RecordedStep:
    return RecordedStep(
        key=key,
        type=StepType.MODEL,
        name="m",
        model="m",
        provider="p",
        input={"messages": [{"role": "user", "content": question}]},
        output={"message": {"role": "assistant", "content": answer}},
    )


def test_agent_has_output_of_last_model() -> None:
    run = agent_run(SUB_AGENT)
    entry: JSONValue = {"match": {"step": number(run, StepType.MODEL, 3)}, **output_override(NEW_ANSWER)}
    closed = ends(replay(entry, run=run).execute())[1]
    assert (closed.output, closed.label, closed.reason) == ({"text": NEW_ANSWER}, Label.SIMULATED, Reason.DERIVED)
    # The output step, which says what the model says
    assert closed.output_from == (len(run.steps),)


def two_answers(output: JSONValue) -> RecordedRun:
    """An agent with two independent answers to one question."""
    question = "How is the tower?"
    return agent_around(
        model_step("a", question, "It is made of iron."), model_step("b", question, "300 metres."), output=output
    )


def close_agent(run: RecordedRun, no: int, text: str) -> ContainerClosed:
    """Close the agent after step `no` has another output."""
    return ends(replay({"match": {"step": no}, **output_override(text)}, run=run).execute())[1]


def test_unreached_last_answer_keeps_agent_exact() -> None:
    closed = close_agent(two_answers("300 metres."), 2, "It is made of wood.")
    assert (closed.output, closed.label, closed.reason) == ("300 metres.", Label.EXACT, Reason.DERIVED)


@pytest.mark.parametrize(("no", "reason"), [(1, Reason.SOURCE_OUTPUT_UNVERIFIED), (3, Reason.DERIVED)])
def test_agent_with_unreadable_recording_is_never_exact(no: int, reason: Reason) -> None:
    """Neither one whose own input is lost, nor one whose last answer may be that of another call."""
    fork = replay({"match": {"step": 2}, **output_override("It is made of wood.")}, run=two_answers("300 metres."))
    losses = (LostPayload(field="input", loss=Loss.MISSING, digest="0"),)
    nodes = [replace(node, losses=losses if node.no == no else ()) for node in fork.graph.nodes]
    fork.graph = replace(fork.graph, nodes=tuple(nodes))
    closed = ends(fork.execute())[1]
    assert (closed.output, closed.label, closed.reason) == ("300 metres.", Label.SIMULATED, reason)


@pytest.mark.parametrize(
    "output",
    [{"verdict": "approve"}, {"approved": True}, {"text": "300 metres.", "score": 7}, "a summary in other words"],
)
def test_unexplained_output_is_assumed(output: JSONValue) -> None:
    closed = close_agent(two_answers(output), 2, "It is made of wood.")
    assert (closed.output, closed.label, closed.reason) == (output, Label.SIMULATED, Reason.ASSUMED_UNAFFECTED)
    assert "step 2 inside it" in closed.note


def test_all_changed_texts_are_replaced() -> None:
    closed = close_agent(two_answers({"notes": ["It is made of iron.", "300 metres."]}), 2, "It is made of wood.")
    assert closed.output == {"notes": ["It is made of wood.", "300 metres."]}
    assert (closed.label, closed.reason, closed.output_from) == (Label.SIMULATED, Reason.DERIVED, (2,))


def test_fields_from_code_are_assumed() -> None:
    run = agent_around(
        model_step("a", "Refund it?", "Yes, refund."), output={"text": "Yes, refund.", "decision": "approved"}
    )
    closed = close_agent(run, 2, "No.")
    assert closed.output == {"text": "No.", "decision": "approved"}
    assert (closed.label, closed.reason) == (Label.SIMULATED, Reason.ASSUMED_UNAFFECTED)


def test_output_without_place_for_change_is_assumed() -> None:
    tool = RecordedStep(key="t", type=StepType.TOOL, name="check", input={}, output={"state": "lost at sea"})
    run = agent_around(tool, output="Your parcel is lost at sea.")
    closed = ends(replay({"match": {"step": 2}, "tool": {"output": ["found"]}}, run=run).execute())[1]
    assert (closed.output, closed.reason) == ("Your parcel is lost at sea.", Reason.ASSUMED_UNAFFECTED)


def test_agent_without_output_takes_weakest_label() -> None:
    run = agent_around(model_step("a", "What is it?", "A tower."))
    closed = ends(replay({"match": {"step": 2}, **output_override("A bridge.")}, run=run).execute())[1]
    assert (closed.output, closed.label, closed.reason) == (None, Label.SIMULATED, Reason.DERIVED)


def test_whole_words_are_replaced() -> None:
    tool = RecordedStep(key="t", type=StepType.TOOL, name="check", input={}, output={"status": "ok"})
    run = agent_around(tool, output="All looks fine. Status: ok")
    closed = ends(replay({"match": {"step": 2}, "tool": {"output": {"status": "failed"}}}, run=run).execute())[1]
    assert closed.output == "All looks fine. Status: failed"
    assert has_words("is ok.", "ok")
    assert not has_words("looks", "ok")


def test_consumers_of_assumed_result_are_assumed() -> None:
    run = agent_run(((replace(RESEARCH, result="height: known"),), ANSWER))
    tool = number(run, StepType.TOOL, 0)
    run = with_step(run, run.steps[tool - 1].key, output="height: known")
    labels_by_step = labels(
        replay({"match": {"step": number(run, StepType.MODEL, 1)}, **output_override(NEW_ANSWER)}, run=run).execute()
    )
    assert labels_by_step[tool] == "simulated assumed_unaffected"


@few_examples
@given(forks())
def test_containers_of_changed_steps_are_not_exact(fork: Replay) -> None:
    """An independent oracle that looks at the last answers inside only."""
    events = list(fork.execute(same_calls(fork)))
    labels_by_step, skipped_numbers = (
        labels(events),
        {event.node.no for event in events if isinstance(event, StepSkipped)},
    )
    for node in fork.graph.nodes:
        if node.type not in HOLDERS or node.no in skipped_numbers or node.no in fork.profile.by_step:
            continue
        children = fork.graph.descendants(node.no)
        if all(labels_by_step[step.no].startswith("exact") for step in children):
            assert labels_by_step[node.no].startswith("exact"), node
            continue
        models = [step for step in children if step.type is StepType.MODEL and step.no not in skipped_numbers]
        if not node.output_ref or (models and not labels_by_step[models[-1].no].startswith("exact")):
            assert not labels_by_step[node.no].startswith("exact"), node


@few_examples
@given(forks())
def test_agent_repeats_current_last_answer(fork: Replay) -> None:
    events = list(fork.execute(same_calls(fork)))
    answers = {
        event.call.node.no: event.answer for event in events if isinstance(event, StepResolved) and event.call.node
    }
    has_new_steps = (
        isinstance(event, StepResolved) and (event.call.node is None or not event.answer.label) for event in events
    )
    if any(isinstance(event, StepSkipped) for event in events) or any(has_new_steps):
        return
    for closed in ends(events).values():
        children = fork.graph.descendants(closed.node.no)
        last = next((step for step in reversed(children) if step.type is StepType.MODEL), None)
        given_by_hand = any(step.type is StepType.OUTPUT and step.no in fork.profile.by_step for step in children)
        if last is None or last.no not in answers or given_by_hand or not closed.node.output_ref:
            continue
        before = ModelAnswer(fork.payloads[last.output_ref]).text
        if before and fork.payloads[closed.node.output_ref] == {"text": before}:
            assert closed.output == {"text": ModelAnswer(answers[last.no].output).text}
            assert closed.label is answers[last.no].label
