"""How steps that hold others end: what they say, and their labels."""

from dataclasses import replace

import pytest
from hypothesis import given, settings

from replay.core.events import ContainerClosed, Event, StepResolved, StepSkipped
from replay.inputs.texts import has_words
from tests.support.agent_runs import ANSWER, NESTED, RESEARCH, agent_run
from tests.unit.replay.engine.test_replayer import Replay, labels, replay
from tests.unit.replay.loops.test_subagents import number
from tests.unit.replay.planning.test_planner import alike, forks, many
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import Label, Reason, StepType
from traces.payloads.messages import ModelAnswer

some = settings(many, max_examples=60)
HOLDERS = {StepType.AGENT, StepType.TURN}
OTHER = "Nobody has measured it."


def said(text: str) -> JSONObject:
    return {"output": text}


def ends(events: list[Event]) -> dict[int, ContainerClosed]:
    return {event.node.no: event for event in events if isinstance(event, ContainerClosed)}


def with_step(run: RecordedRun, key: str, **columns: object) -> RecordedRun:
    return replace(run, steps=tuple(replace(step, **columns) if step.key == key else step for step in run.steps))  # type: ignore[arg-type]


def agent_around(*steps: RecordedStep, output: JSONValue = None) -> RecordedRun:
    agent = RecordedStep(key="agent", type=StepType.AGENT, name="agent", input={"task": "look"}, output=output)
    inside = (replace(step, parent=step.parent or "agent") for step in steps)
    return RecordedRun(external_id="one", name="one", app="one", format="test", steps=(agent, *inside))


def asked(key: str, question: str, answer: str) -> RecordedStep:
    return RecordedStep(
        key=key,
        type=StepType.MODEL,
        name="m",
        model="m",
        provider="p",
        input={"messages": [{"role": "user", "content": question}]},
        output={"message": {"role": "assistant", "content": answer}},
    )


def test_an_agent_says_what_its_last_model_says_now() -> None:
    run = agent_run(NESTED)
    entry: JSONValue = {"match": {"step": number(run, StepType.MODEL, 3)}, **said(OTHER)}
    closed = ends(replay(entry, run=run).execute())[1]
    assert (closed.output, closed.label, closed.reason) == ({"text": OTHER}, Label.SIMULATED, Reason.DERIVED)
    assert closed.output_from == (len(run.steps),)  # the output step, which says what the model says


def two_answers(output: JSONValue) -> RecordedRun:
    """An agent around two answers to one question, of which the second does not know the first."""
    question = "How is the tower?"
    return agent_around(asked("a", question, "It is made of iron."), asked("b", question, "300 metres."), output=output)


def ended(run: RecordedRun, no: int, text: str) -> ContainerClosed:
    """How the agent ends when step `no` says something else."""
    return ends(replay({"match": {"step": no}, **said(text)}, run=run).execute())[1]


def test_a_last_answer_that_nothing_reaches_keeps_an_agent_exact() -> None:
    closed = ended(two_answers("300 metres."), 2, "It is made of wood.")
    assert (closed.output, closed.label, closed.reason) == ("300 metres.", Label.EXACT, Reason.DERIVED)


@pytest.mark.parametrize(
    "output",
    [{"verdict": "approve"}, {"approved": True}, {"text": "300 metres.", "score": 7}, "a summary in other words"],
)
def test_an_output_that_nothing_explains_is_kept_on_an_assumption(output: JSONValue) -> None:
    closed = ended(two_answers(output), 2, "It is made of wood.")
    assert (closed.output, closed.label, closed.reason) == (output, Label.SIMULATED, Reason.ASSUMED_UNAFFECTED)
    assert "step 2 inside it" in closed.note


def test_all_words_of_an_output_are_those_of_this_replay() -> None:
    closed = ended(two_answers({"notes": ["It is made of iron.", "300 metres."]}), 2, "It is made of wood.")
    assert closed.output == {"notes": ["It is made of wood.", "300 metres."]}
    assert (closed.label, closed.reason, closed.output_from) == (Label.SIMULATED, Reason.DERIVED, (2,))


def test_what_code_added_to_an_answer_that_changed_is_kept_on_an_assumption() -> None:
    run = agent_around(
        asked("a", "Refund it?", "Yes, refund."), output={"text": "Yes, refund.", "decision": "approved"}
    )
    closed = ended(run, 2, "No.")
    assert closed.output == {"text": "No.", "decision": "approved"}
    assert (closed.label, closed.reason) == (Label.SIMULATED, Reason.ASSUMED_UNAFFECTED)


def test_an_output_that_holds_what_a_step_no_longer_says_is_an_assumption_where_the_new_answer_has_no_place() -> None:
    tool = RecordedStep(key="t", type=StepType.TOOL, name="check", input={}, output={"state": "lost at sea"})
    run = agent_around(tool, output="Your parcel is lost at sea.")
    closed = ends(replay({"match": {"step": 2}, "tool": {"output": ["found"]}}, run=run).execute())[1]
    assert (closed.output, closed.reason) == ("Your parcel is lost at sea.", Reason.ASSUMED_UNAFFECTED)


def test_an_agent_that_recorded_no_output_is_not_exact_around_what_is_not() -> None:
    run = agent_around(asked("a", "What is it?", "A tower."))
    closed = ends(replay({"match": {"step": 2}, **said("A bridge.")}, run=run).execute())[1]
    assert (closed.output, closed.label, closed.reason) == (None, Label.SIMULATED, Reason.DERIVED)


def test_an_agent_that_was_open_at_the_fork_ends_as_any_other() -> None:
    run = agent_run(NESTED)
    last = number(run, StepType.MODEL, 3)
    fork = replay({"match": {"step": last}, **said(OTHER)}, run=run, fork=last)
    assert labels(fork.execute())[1] == "simulated derived"
    plan = fork.plan()
    planned = {step.sequence_no: step for step in plan.steps}
    assert (planned[1].label, planned[1].reason) == (Label.SIMULATED, "derived")
    assert plan.actions["inherited"] == last - 2
    assert plan.counts.exact + plan.counts.cached + plan.counts.simulated == len(run.steps)


def test_words_are_replaced_as_words() -> None:
    tool = RecordedStep(key="t", type=StepType.TOOL, name="check", input={}, output={"status": "ok"})
    run = agent_around(tool, output="All looks fine. Status: ok")
    closed = ends(replay({"match": {"step": 2}, "tool": {"output": {"status": "failed"}}}, run=run).execute())[1]
    assert closed.output == "All looks fine. Status: failed"
    assert has_words("is ok.", "ok")
    assert not has_words("looks", "ok")


def test_the_result_of_a_sub_agent_that_is_kept_on_an_assumption_is_assumed_by_whoever_reads_it() -> None:
    run = agent_run(((replace(RESEARCH, result="height: known"),), ANSWER))
    tool = number(run, StepType.TOOL, 0)
    run = with_step(run, run.steps[tool - 1].key, output="height: known")
    found = labels(replay({"match": {"step": number(run, StepType.MODEL, 1)}, **said(OTHER)}, run=run).execute())
    assert found[tool] == "simulated assumed_unaffected"


@some
@given(forks())
def test_what_holds_something_that_is_not_as_recorded_is_exact_only_for_its_own_recorded_words(fork: Replay) -> None:
    """A judge of its own: it looks at the last answers inside, and nothing else."""
    events = list(fork.execute(alike(fork)))
    found, gone = labels(events), {event.node.no for event in events if isinstance(event, StepSkipped)}
    for node in fork.graph.nodes:
        if node.type not in HOLDERS or node.no in gone or node.no in fork.profile.by_step:
            continue
        inside = fork.graph.descendants(node.no)
        if all(found[step.no].startswith("exact") for step in inside):
            assert found[node.no].startswith("exact"), node
            continue
        models = [step for step in inside if step.type is StepType.MODEL and step.no not in gone]
        if not node.output_ref or (models and not found[models[-1].no].startswith("exact")):
            assert not found[node.no].startswith("exact"), node


@some
@given(forks())
def test_an_agent_whose_words_are_its_last_answer_says_the_one_of_this_replay(fork: Replay) -> None:
    events = list(fork.execute(alike(fork)))
    answers = {
        event.call.node.no: event.answer for event in events if isinstance(event, StepResolved) and event.call.node
    }
    beyond = (
        isinstance(event, StepResolved) and (event.call.node is None or not event.answer.label) for event in events
    )
    if any(isinstance(event, StepSkipped) for event in events) or any(beyond):
        return
    for closed in ends(events).values():
        inside = fork.graph.descendants(closed.node.no)
        last = next((step for step in reversed(inside) if step.type is StepType.MODEL), None)
        given_by_hand = any(step.type is StepType.OUTPUT and step.no in fork.profile.by_step for step in inside)
        if last is None or last.no not in answers or given_by_hand or not closed.node.output_ref:
            continue
        before = ModelAnswer(fork.payloads[last.output_ref]).text
        if before and fork.payloads[closed.node.output_ref] == {"text": before}:
            assert closed.output == {"text": ModelAnswer(answers[last.no].output).text}
            assert closed.label is answers[last.no].label
