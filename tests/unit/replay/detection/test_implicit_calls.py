"""Agents and searches that answer calls without a tool step are resolved like calls."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from replay.core.calls import Call
from replay.core.events import StepResolved
from replay.overrides.policy import Policy, ToolRules
from tests.support.agent_runs import (
    ANSWER,
    BUILDER,
    HEIGHT,
    ORIGIN,
    RESEARCH,
    SEARCH,
    Reply,
    Shape,
    ToolCall,
    Turn,
    agent_run,
)
from tests.support.memory_replays import labels, replay
from tests.unit.replay.loops.test_subagents import (
    BOTH_SHAPES,
    BRIDGE_CALL,
    ReplayOutcome,
    calls,
    final_answer,
    number,
    replay_answers,
    results,
    script,
)
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType

AGENT = replace(RESEARCH, answering_type=StepType.AGENT)
SECOND = replace(ORIGIN, answering_type=StepType.AGENT)
BRIDGE = ToolCall("research", {"task": "find out how wide the bridge is"})
CURT = replace(AGENT, turns=((HEIGHT,), Reply("Yes.")))


def last_results(outcome: ReplayOutcome) -> list[JSONValue]:
    return [content for _, content in results(outcome.messages_of(outcome.models[-1]))]


def first_agent_steps(run: RecordedRun) -> list[int]:
    """Numbers of the first called agent and its steps."""
    first = next(at for at, step in enumerate(run.steps, 1) if step.name == "researcher")
    keys = {run.steps[first - 1].key}
    numbers = [first]
    for at, step in enumerate(run.steps, 1):
        if step.parent in keys:
            keys.add(step.key)
            numbers.append(at)
    return numbers


@BOTH_SHAPES
def test_implicit_agent_reruns_for_new_task(shape: Shape) -> None:
    run = agent_run(((AGENT,), ANSWER), shape=shape)
    outcome = replay_answers(
        run, 0, calls(BRIDGE), calls(BRIDGE_CALL), final_answer("It is 9 metres wide."), final_answer("9 metres.")
    )
    assert outcome.messages_of(outcome.models[1])[-1]["content"] == "Task: find out how wide the bridge is"
    assert last_results(outcome) == ["It is 9 metres wide."]
    # Inside; the agent itself is no tool call
    assert outcome.tools == ["measure simulated"]
    assert labels(outcome.events)[first_agent_steps(run)[0]] == "simulated derived"
    assert any("find out how wide the bridge is" in text for text in outcome.divergences)


@BOTH_SHAPES
def test_implicit_agent_with_same_task_is_reused(shape: Shape) -> None:
    run = agent_run(((AGENT, HEIGHT), ANSWER), shape=shape)
    outcome = replay_answers(run, 0, calls(RESEARCH, BRIDGE_CALL), final_answer("300 metres."))
    assert {labels(outcome.events)[no] for no in first_agent_steps(run)} == {"exact source_output_reused"}
    assert last_results(outcome)[0] == "I found out that it is 300 metres high."
    assert outcome.skipped_steps == [number(run, StepType.TOOL, 1)]


@BOTH_SHAPES
def test_uncalled_agent_is_skipped_whole(shape: Shape) -> None:
    run = agent_run(((AGENT,), ANSWER), shape=shape)
    outcome = replay_answers(run, 0, final_answer("I know: 300 metres."))
    assert set(first_agent_steps(run)) <= set(outcome.skipped_steps)
    assert len(outcome.models) == 1


@BOTH_SHAPES
@pytest.mark.parametrize("index", [0, 1])
def test_one_of_two_parallel_agents_reruns(shape: Shape, index: int) -> None:
    run = agent_run(((AGENT, SECOND), ANSWER), shape=shape, is_interleaved=True)
    requests = [RESEARCH, ORIGIN]
    requests[index] = BRIDGE
    outcome = replay_answers(run, 0, calls(*requests), final_answer("It is 9 metres wide."), final_answer("Done."))
    contents = last_results(outcome)
    assert contents[index] == "It is 9 metres wide."
    assert (
        contents[1 - index]
        == ("I found out that it is 300 metres high.", "I found out that Ada Example built it.")[1 - index]
    )


@BOTH_SHAPES
def test_short_answer_reaches_caller(shape: Shape) -> None:
    run = agent_run(((CURT,), ANSWER), shape=shape)
    outcome = replay_answers(run, 2, final_answer("No."), final_answer("It is not."))
    assert last_results(outcome) == ["No."]
    assert len(outcome.models) == 2


def test_override_of_agent_is_its_result() -> None:
    run = agent_run(((AGENT,), ANSWER))
    fork = replay(
        {"match": {"step": first_agent_steps(run)[0]}, "output": {"text": "Nobody knows."}}, run=with_output(run)
    )
    outcome = ReplayOutcome(fork, fork.execute(script(final_answer("I cannot say."))))
    assert last_results(outcome) == ["Nobody knows."]


def with_output(run: RecordedRun) -> RecordedRun:
    """The run with an output recorded for its called agent."""
    text: JSONValue = {"text": "I found out that it is 300 metres high."}
    steps = [replace(step, output=text) if step.name == "researcher" else step for step in run.steps]
    return replace(run, steps=tuple(steps))


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        (Policy(allow=[]), "the policy allows no live model calls"),
        (Policy(tools=ToolRules(block=["research"])), ""),
    ],
)
def test_forbidden_rerun_skips_agent(policy: Policy, reason: str) -> None:
    run = agent_run(((AGENT,), ANSWER))
    other_call: JSONValue = {"id": "x", "name": BRIDGE.tool, "arguments": BRIDGE.arguments}
    what_if: JSONValue = {"match": {"step": 2}, "output": {"content": None, "tool_calls": [other_call]}}
    fork = replay(what_if, run=run, policy=policy)
    outcome = ReplayOutcome(fork, fork.execute(script(final_answer("So be it."))))
    assert set(first_agent_steps(run)) <= set(outcome.skipped_steps)
    assert outcome.tools == ["research simulated"]
    assert sum(reason in text for text in outcome.divergences if "sub-agent" in text) == (1 if reason else 0)


def test_blocked_agent_tool_is_denied() -> None:
    run = agent_run(((RESEARCH,), ANSWER))
    outcome = replay_answers(
        run, 0, calls(BRIDGE), final_answer("So be it."), policy=Policy(tools=ToolRules(block=["research"]))
    )
    denials = [
        event.answer for event in outcome.events if isinstance(event, StepResolved) and event.call.type == "tool"
    ]
    assert [answer.status for answer in denials] == ["denied"]
    assert len(outcome.models) == 2


def search_again(
    *answers: JSONObject, turns: Sequence[Turn] = ((SEARCH,), ANSWER), library: bool = True
) -> ReplayOutcome:
    """Outcome if the first model step gives these answers, where the recording has a search."""
    run = agent_run(turns)
    entry: JSONValue = {"match": {"step": 2}, "model": {"temperature": 1}}
    fork = replay(entry, run=run, policy=Policy(allow=["model", "retrieval"]))
    return ReplayOutcome(fork, fork.execute(script(*answers), _catalogue if library else None))


def _catalogue(call: Call) -> list[JSONValue]:
    assert isinstance(call.input, dict)
    return [{"id": "n", "content": f"All about {call.input['query']}."}]


def test_search_with_same_query_is_reused() -> None:
    outcome = search_again(calls(SEARCH, BRIDGE_CALL), final_answer("9 euros."))
    assert labels(outcome.events)[3] == "exact source_output_reused"
    assert last_results(outcome)[0] == "Tickets are 9 euros.\nClosed."


def test_search_and_agent_called_in_another_turn_are_cached() -> None:
    """They were recorded for the second answer, after whatever the first call did."""
    outcome = search_again(
        calls(AGENT, SEARCH), final_answer("9 euros."), turns=((BRIDGE_CALL,), (AGENT,), (SEARCH,), ANSWER)
    )
    steps = {
        step.key: label for no, label in labels(outcome.events).items() if (step := outcome.replay.run.steps[no - 1])
    }
    answering = [step for step in outcome.replay.run.steps if step.type in (StepType.AGENT, StepType.RETRIEVAL)][1:]
    inner = [step for step in outcome.replay.run.steps if step.parent == answering[0].key]
    assert {steps[step.key] for step in (*answering, *inner)} == {"cached cache_hit_signature_match"}


@pytest.mark.parametrize("library", [True, False])
def test_search_with_new_query_runs_again(library: bool) -> None:
    other_call = ToolCall("search", {"query": "tickets for the bridge"})
    outcome = search_again(calls(other_call), final_answer("Nine euros."), library=library)
    expected = "live_retrieval" if library else "simulation_policy_fallback"
    assert labels(outcome.events)[3] == f"simulated {expected}"
    text = "All about tickets for the bridge." if library else "[Forkpoint] No answer for this retrieval step"
    assert str(last_results(outcome)[0]).startswith(text)
    assert outcome.tools == []


def test_short_documents_reach_model() -> None:
    curt = replace(SEARCH, result=["9.", "No."])
    run = agent_run(((curt,), ANSWER))
    fork = replay({"match": {"step": 3}, "retrieval": {"documents": [{"id": "x", "content": "8."}]}}, run=run)
    outcome = ReplayOutcome(fork, fork.execute(script(final_answer("8 euros."))))
    assert last_results(outcome) == ["8."]


SIGNS: Sequence[tuple[str, Callable[[RecordedRun], RecordedRun]]] = (
    ("its task", lambda run: run),
    ("its name", lambda run: _with_task(run, name="research", task="anything")),
    ("its words", lambda run: _with_task(run, name="somebody", task="anything")),
)


@pytest.mark.parametrize("change", [change for _, change in SIGNS], ids=[sign for sign, _ in SIGNS])
def test_evidence_for_call_of_agent(change: Callable[[RecordedRun], RecordedRun]) -> None:
    outcome = replay_answers(change(agent_run(((AGENT,), ANSWER))), 0, final_answer("I know."))
    assert set(first_agent_steps(agent_run(((AGENT,), ANSWER)))) <= set(outcome.skipped_steps)


def _with_task(run: RecordedRun, *, name: str, task: str) -> RecordedRun:
    """The run with another name of the called agent and without its task."""
    steps = []
    for step in run.steps:
        if step.name == "researcher":
            step = replace(step, name=name, input={"task": task})
        if isinstance(step.input, dict) and isinstance(messages := step.input.get("messages"), list):
            user_messages: list[JSONValue] = [
                {**message, "content": task} if str(message.get("content")).startswith("Task:") else message
                for message in messages
                if isinstance(message, dict)
            ]
            input: JSONObject = {**step.input, "messages": user_messages}
            step = replace(step, input=input)
        steps.append(step)
    return replace(run, steps=tuple(steps))


def test_agent_without_evidence_answers_no_call() -> None:
    run = _with_task(
        agent_run(((replace(AGENT, turns=(Reply("Something else."),)),), ANSWER)), name="clerk", task="tidy up"
    )
    outcome = replay_answers(
        replace(run, steps=tuple(map(_without_words, run.steps))), 0, calls(BUILDER), final_answer("Done.")
    )
    assert first_agent_steps(agent_run(((AGENT,), ANSWER)))[0] not in outcome.skipped_steps


def _without_words(step: RecordedStep) -> RecordedStep:
    """A step whose request does not contain the agent's answer."""
    input = step.input if isinstance(step.input, dict) else {}
    messages = input.get("messages")
    if not isinstance(messages, list) or step.key != "main.1":
        return step
    result: JSONObject = {"role": "tool", "content": "?", "tool_call_id": "call_main.0.0"}
    return replace(step, input={**input, "messages": [*messages[:-1], result]})
