"""Agents and searches that answer calls though no tool step stands around them: they are resolved like calls."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from replay.core.calls import Call
from replay.core.events import StepResolved
from replay.overrides.policy import Policy, ToolRules
from tests.support.agent_runs import (
    ANSWER,
    BUILDER,
    FOUND,
    HEIGHT,
    ORIGIN,
    RESEARCH,
    Asks,
    Says,
    Shape,
    Turn,
    agent_run,
)
from tests.unit.replay.engine.test_replayer import labels, replay
from tests.unit.replay.loops.test_subagents import BOTH, OTHER, Went, calls, changed, number, results, says, script
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType

AGENT = replace(RESEARCH, by=StepType.AGENT)
SECOND = replace(ORIGIN, by=StepType.AGENT)
BRIDGE = Asks("research", {"task": "find out how wide the bridge is"})
CURT = replace(AGENT, inside=((HEIGHT,), Says("Yes.")))


def last_results(went: Went) -> list[JSONValue]:
    return [content for _, content in results(went.asked(went.models[-1]))]


def within(run: RecordedRun) -> list[int]:
    """The numbers of the first agent that a model called, and of what it holds."""
    first = next(at for at, step in enumerate(run.steps, 1) if step.name == "researcher")
    held = {run.steps[first - 1].key}
    found = [first]
    for at, step in enumerate(run.steps, 1):
        if step.parent in held:
            held.add(step.key)
            found.append(at)
    return found


@BOTH
def test_an_agent_without_a_tool_step_runs_again_for_another_task(shape: Shape) -> None:
    run = agent_run(((AGENT,), ANSWER), shape=shape)
    went = changed(run, 0, calls(BRIDGE), calls(OTHER), says("It is 9 metres wide."), says("9 metres."))
    assert went.asked(went.models[1])[-1]["content"] == "Task: find out how wide the bridge is"
    assert last_results(went) == ["It is 9 metres wide."]
    assert went.tools == ["measure simulated"]  # inside; the agent itself is no tool call
    assert labels(went.events)[within(run)[0]] == "simulated derived"
    assert any("find out how wide the bridge is" in text for text in went.said)


@BOTH
def test_an_agent_that_is_called_as_before_keeps_its_answer(shape: Shape) -> None:
    run = agent_run(((AGENT, HEIGHT), ANSWER), shape=shape)
    went = changed(run, 0, calls(RESEARCH, OTHER), says("300 metres."))
    assert {labels(went.events)[no] for no in within(run)} == {"exact source_output_reused"}
    assert last_results(went)[0] == "I found out that it is 300 metres high."
    assert went.gone == [number(run, StepType.TOOL, 1)]


@BOTH
def test_an_agent_that_nobody_calls_any_more_is_gone_with_all_that_it_holds(shape: Shape) -> None:
    run = agent_run(((AGENT,), ANSWER), shape=shape)
    went = changed(run, 0, says("I know: 300 metres."))
    assert set(within(run)) <= set(went.gone)
    assert len(went.models) == 1


@BOTH
@pytest.mark.parametrize("which", [0, 1])
def test_of_two_agents_at_once_one_is_given_another_task(shape: Shape, which: int) -> None:
    run = agent_run(((AGENT, SECOND), ANSWER), shape=shape, interleaved=True)
    asked = [RESEARCH, ORIGIN]
    asked[which] = BRIDGE
    went = changed(run, 0, calls(*asked), says("It is 9 metres wide."), says("Done."))
    contents = last_results(went)
    assert contents[which] == "It is 9 metres wide."
    assert (
        contents[1 - which]
        == ("I found out that it is 300 metres high.", "I found out that Ada Example built it.")[1 - which]
    )


@BOTH
def test_words_too_short_to_be_found_again_reach_the_caller_all_the_same(shape: Shape) -> None:
    run = agent_run(((CURT,), ANSWER), shape=shape)
    went = changed(run, 2, says("No."), says("It is not."))
    assert last_results(went) == ["No."]
    assert len(went.models) == 2


def test_an_answer_given_by_hand_for_an_agent_is_its_result() -> None:
    run = agent_run(((AGENT,), ANSWER))
    fork = replay({"match": {"step": within(run)[0]}, "output": {"text": "Nobody knows."}}, run=with_output(run))
    went = Went(fork, fork.execute(script(says("I cannot say."))))
    assert last_results(went) == ["Nobody knows."]


def with_output(run: RecordedRun) -> RecordedRun:
    """The run with what its called agent says written down beside the agent as well."""
    said: JSONValue = {"text": "I found out that it is 300 metres high."}
    steps = [replace(step, output=said) if step.name == "researcher" else step for step in run.steps]
    return replace(run, steps=tuple(steps))


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        (Policy(allow=[]), "the policy allows no live model calls"),
        (Policy(tools=ToolRules(block=["research"])), ""),
    ],
)
def test_an_agent_is_not_run_again_where_that_is_not_allowed(policy: Policy, why: str) -> None:
    run = agent_run(((AGENT,), ANSWER))
    other: JSONValue = {"id": "x", "name": BRIDGE.tool, "arguments": BRIDGE.arguments}
    what_if: JSONValue = {"match": {"step": 2}, "output": {"content": None, "tool_calls": [other]}}
    fork = replay(what_if, run=run, policy=policy)
    went = Went(fork, fork.execute(script(says("So be it."))))
    assert set(within(run)) <= set(went.gone)
    assert went.tools == ["research simulated"]
    assert sum(why in text for text in went.said if "sub-agent" in text) == (1 if why else 0)


def test_a_blocked_tool_that_is_an_agent_is_denied_and_not_run_for_another_task() -> None:
    run = agent_run(((RESEARCH,), ANSWER))
    went = changed(run, 0, calls(BRIDGE), says("So be it."), policy=Policy(tools=ToolRules(block=["research"])))
    denied = [event.answer for event in went.events if isinstance(event, StepResolved) and event.call.type == "tool"]
    assert [answer.status for answer in denied] == ["denied"]
    assert len(went.models) == 2


def searched(*answers: JSONObject, turns: Sequence[Turn] = ((FOUND,), ANSWER), library: bool = True) -> Went:
    """What happens when the first model step answers so, where a search answered it in the recording."""
    run = agent_run(turns)
    entry: JSONValue = {"match": {"step": 2}, "model": {"temperature": 1}}
    fork = replay(entry, run=run, policy=Policy(allow=["model", "retrieval"]))
    return Went(fork, fork.execute(script(*answers), _catalogue if library else None))


def _catalogue(call: Call) -> list[JSONValue]:
    assert isinstance(call.input, dict)
    return [{"id": "n", "content": f"All about {call.input['query']}."}]


def test_a_search_that_is_asked_for_as_before_keeps_its_documents() -> None:
    went = searched(calls(FOUND, OTHER), says("9 euros."))
    assert labels(went.events)[3] == "exact source_output_reused"
    assert last_results(went)[0] == "Tickets are 9 euros.\nClosed."


@pytest.mark.parametrize("library", [True, False])
def test_a_search_that_a_model_asks_for_in_other_words_is_made_again(library: bool) -> None:
    other = Asks("search", {"query": "tickets for the bridge"})
    went = searched(calls(other), says("Nine euros."), library=library)
    expected = "live_retrieval" if library else "simulation_policy_fallback"
    assert labels(went.events)[3] == f"simulated {expected}"
    said = "All about tickets for the bridge." if library else "[Forkpoint] No answer for this retrieval step"
    assert str(last_results(went)[0]).startswith(said)
    assert went.tools == []


def test_documents_too_short_to_be_found_again_reach_the_model_all_the_same() -> None:
    curt = replace(FOUND, result=["9.", "No."])
    run = agent_run(((curt,), ANSWER))
    fork = replay({"match": {"step": 3}, "retrieval": {"documents": [{"id": "x", "content": "8."}]}}, run=run)
    went = Went(fork, fork.execute(script(says("8 euros."))))
    assert last_results(went) == ["8."]


SIGNS: Sequence[tuple[str, Callable[[RecordedRun], RecordedRun]]] = (
    ("its task", lambda run: run),
    ("its name", lambda run: _with(run, name="research", task="anything")),
    ("its words", lambda run: _with(run, name="somebody", task="anything")),
)


@pytest.mark.parametrize("change", [change for _, change in SIGNS], ids=[sign for sign, _ in SIGNS])
def test_which_call_an_agent_answers_is_known_by(change: Callable[[RecordedRun], RecordedRun]) -> None:
    went = changed(change(agent_run(((AGENT,), ANSWER))), 0, says("I know."))
    assert set(within(agent_run(((AGENT,), ANSWER)))) <= set(went.gone)


def _with(run: RecordedRun, *, name: str, task: str) -> RecordedRun:
    """The run with another name of the called agent, whose task is written down nowhere."""
    steps = []
    for step in run.steps:
        if step.name == "researcher":
            step = replace(step, name=name, input={"task": task})
        if isinstance(step.input, dict) and isinstance(messages := step.input.get("messages"), list):
            told: list[JSONValue] = [
                {**message, "content": task} if str(message.get("content")).startswith("Task:") else message
                for message in messages
                if isinstance(message, dict)
            ]
            given: JSONObject = {**step.input, "messages": told}
            step = replace(step, input=given)
        steps.append(step)
    return replace(run, steps=tuple(steps))


def test_an_agent_that_shows_no_sign_of_a_call_is_not_taken_for_its_answer() -> None:
    run = _with(agent_run(((replace(AGENT, inside=(Says("Something else."),)),), ANSWER)), name="clerk", task="tidy up")
    went = changed(replace(run, steps=tuple(map(_without_words, run.steps))), 0, calls(BUILDER), says("Done."))
    assert within(agent_run(((AGENT,), ANSWER)))[0] not in went.gone


def _without_words(step: RecordedStep) -> RecordedStep:
    """A step whose request holds nothing of what the agent said."""
    given = step.input if isinstance(step.input, dict) else {}
    messages = given.get("messages")
    if not isinstance(messages, list) or step.key != "main.1":
        return step
    result: JSONObject = {"role": "tool", "content": "?", "tool_call_id": "call_main.0.0"}
    return replace(step, input={**given, "messages": [*messages[:-1], result]})
