"""Loops whose calls run in parallel, lie in containers, or are agents of their own: each is followed."""

from collections.abc import Callable, Sequence

import pytest

from replay.core.calls import Call
from replay.core.events import ContainerClosed, Divergence, Event, StepResolved, StepSkipped
from replay.overrides.policy import Policy
from tests.support.agent_runs import (
    AGE,
    ANSWER,
    BUILDER,
    HEIGHT,
    NESTED,
    ORIGIN,
    PARALLEL,
    RESEARCH,
    TEAM,
    Asks,
    Says,
    Shape,
    Turn,
    agent_run,
)
from tests.unit.replay.engine.test_replayer import Replay, labels, replay, resolved
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepType

BOTH = pytest.mark.parametrize("shape", ["flat", "nodes"])
OTHER = Asks("measure", {"what": "the bridge"})


def calls(*asked: Asks) -> JSONObject:
    return {
        "content": None,
        "tool_calls": [
            {"id": f"live{at}", "name": one.tool, "arguments": one.arguments} for at, one in enumerate(asked)
        ],
    }


def says(text: str) -> JSONObject:
    return {"content": text}


def script(*answers: JSONObject) -> Callable[[Call], JSONObject]:
    """A model that says these, one after another."""
    waiting = iter(answers)
    return lambda call: next(waiting)


def number(run: RecordedRun, type: StepType, which: int) -> int:
    """The number of the `which`th step of a type, from 0."""
    return [at for at, step in enumerate(run.steps, 1) if step.type is type][which]


def changed(run: RecordedRun, which: int, *answers: JSONObject, fork: int = 1, policy: Policy | None = None) -> "Went":
    """What happens when the `which`th model step and those after it answer so."""
    entry: JSONValue = {"match": {"step": number(run, StepType.MODEL, which)}, "model": {"temperature": 1}}
    fork_of = replay(entry, run=run, fork=fork, policy=policy)
    return Went(fork_of, fork_of.execute(script(*answers)))


class Went:
    """The events of one replay, and what they say."""

    def __init__(self, replay: Replay, events: list[Event]) -> None:
        self.replay = replay
        self.events = events

    def step(self, no: int) -> str:
        return self.replay.run.steps[no - 1].key

    @property
    def tools(self) -> list[str]:
        """The derived tool steps in order: called, label, and the recorded step that answered."""
        found = [event for event in self.events if isinstance(event, StepResolved) and event.call.type is StepType.TOOL]
        return [
            f"{event.call.callee} {event.answer.label}{f' {event.answer.source.no}' if event.answer.source else ''}"
            for event in found
        ]

    @property
    def gone(self) -> list[int]:
        return [event.node.no for event in self.events if isinstance(event, StepSkipped)]

    @property
    def closed(self) -> dict[int, JSONValue]:
        return {event.node.no: event.output for event in self.events if isinstance(event, ContainerClosed)}

    @property
    def said(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Divergence)]

    def asked(self, no: int) -> list[JSONObject]:
        """The messages of a model call of the derived run."""
        input = resolved(self.events, no).call.input
        assert isinstance(input, dict)
        messages = input["messages"]
        assert isinstance(messages, list)
        return [message for message in messages if isinstance(message, dict)]

    @property
    def models(self) -> list[int]:
        found = [event for event in self.events if isinstance(event, StepResolved)]
        return [event.call.no for event in found if event.call.type is StepType.MODEL]


def results(messages: Sequence[JSONObject]) -> list[tuple[JSONValue, JSONValue]]:
    return [(message["tool_call_id"], message["content"]) for message in messages if message["role"] == "tool"]


@BOTH
def test_calls_in_parallel_that_stay_keep_the_order_of_their_recorded_results(shape: Shape) -> None:
    run = agent_run(PARALLEL, shape=shape)
    went = changed(run, 0, calls(BUILDER, AGE, HEIGHT), says("done"))
    height, builder = number(run, StepType.TOOL, 0), number(run, StepType.TOOL, 1)
    assert went.tools == [f"measure exact {height}", "look_up simulated", f"look_up exact {builder}"]
    assert results(went.asked(went.models[1])) == [
        ("call_main.0.0", HEIGHT.result),
        ("live1", "[Forkpoint] Tool 'look_up' blocked (side effect, no cache available)"),
        ("call_main.0.1", BUILDER.result),
    ]
    assert went.gone == []


@BOTH
def test_a_call_in_parallel_that_nobody_asks_for_is_gone_and_the_other_stays(shape: Shape) -> None:
    run = agent_run(PARALLEL, shape=shape)
    went = changed(run, 0, calls(BUILDER), says("done"))
    assert went.tools == [f"look_up exact {number(run, StepType.TOOL, 1)}"]
    assert went.gone == [number(run, StepType.TOOL, 0)]
    assert [identity for identity, _ in results(went.asked(went.models[1]))] == ["call_main.0.1"]


def test_new_steps_lie_in_containers_as_recorded_ones_do() -> None:
    went = changed(agent_run(PARALLEL, shape="nodes"), 0, calls(AGE), calls(OTHER), says("done"))
    around = {event.call.no: event.call for event in went.events if isinstance(event, StepResolved)}
    assert [step.name for step in around.values() if step.type is StepType.AGENT] == ["tools", "agent"]
    parents = [around[no].parent for no in went.models]
    assert parents[2] is not None
    assert around[parents[2]].name == "agent"
    assert around[parents[2]].parent == 1


@BOTH
def test_a_sub_agents_new_answer_becomes_the_result_of_its_call(shape: Shape) -> None:
    run = agent_run(NESTED, shape=shape)
    went = changed(run, 1, calls(BUILDER), says("Nobody knows."), says("I cannot say."))
    tool = number(run, StepType.TOOL, 0)
    assert went.closed[tool] == "Nobody knows."
    assert results(went.asked(went.models[2])) == [("call_main.0.0", "Nobody knows.")]
    assert went.gone == [number(run, StepType.TOOL, 1)]
    assert labels(went.events)[tool] == "simulated derived"


@BOTH
def test_a_changed_sub_agent_makes_the_outer_loop_go_another_way(shape: Shape) -> None:
    run = agent_run(NESTED, shape=shape)
    went = changed(run, 1, says("Ask somebody else."), calls(AGE), says("It is old."))
    assert went.tools == ["look_up simulated"]
    assert {number(run, StepType.TOOL, 1), number(run, StepType.MODEL, 2)} <= set(went.gone)
    assert [message["role"] for message in went.asked(went.models[-1])][-2:] == ["assistant", "tool"]


@BOTH
def test_a_sub_agent_that_is_not_called_any_more_is_gone_as_a_whole(shape: Shape) -> None:
    run = agent_run(NESTED, shape=shape)
    went = changed(run, 0, says("I know: 300 metres."))
    first, last = number(run, StepType.TOOL, 0), number(run, StepType.MODEL, 3)
    assert set(range(first, last + 1)) <= set(went.gone)
    assert went.closed[1] == {"text": "I know: 300 metres."}


@BOTH
def test_a_sub_agent_with_another_task_runs_again_with_its_own_system_prompt(shape: Shape) -> None:
    run = agent_run(NESTED, shape=shape)
    other = Asks("research", {"task": "find out how wide the bridge is"})
    went = changed(run, 0, calls(other), calls(OTHER), says("It is 9 metres wide."), says("9 metres."))
    assert went.asked(went.models[1]) == [
        {"role": "system", "content": "You research."},
        {"role": "user", "content": "Task: find out how wide the bridge is"},
    ]
    assert went.closed[number(run, StepType.TOOL, 0)] == "It is 9 metres wide."
    assert results(went.asked(went.models[3])) == [("call_main.0.0", "It is 9 metres wide.")] or results(
        went.asked(went.models[3])
    ) == [("live0", "It is 9 metres wide.")]
    assert any("find out how wide the bridge is" in text for text in went.said)


def test_a_sub_agent_is_not_run_again_where_no_model_may_answer() -> None:
    run = agent_run(NESTED)
    other: JSONValue = {"id": "x", "name": "research", "arguments": {"task": "find out how wide the bridge is"}}
    new: JSONValue = {"id": "y", "name": "look_up", "arguments": {"who": "built the bridge"}}
    what_if: JSONValue = {"match": {"step": 2}, "output": {"content": None, "tool_calls": [other, new]}}
    events = replay(what_if, run=run, policy=Policy(allow=[])).execute()
    assert labels(events)[4] == "unreached"
    said = [event.text for event in events if isinstance(event, Divergence)]
    assert sum("the policy allows no live model calls" in text for text in said) == 1


@BOTH
@pytest.mark.parametrize("which", [1, 2])
def test_of_two_sub_agents_whose_steps_interleave_one_goes_another_way(shape: Shape, which: int) -> None:
    run = agent_run(TEAM, shape=shape, interleaved=True)
    went = changed(run, which, calls(AGE), says("It is old."), says("Old and high."))
    tools = [number(run, StepType.TOOL, 0), number(run, StepType.TOOL, 1)]
    contents = [content for _, content in results(went.asked(went.models[-1]))]
    expected = [RESEARCH, ORIGIN]
    assert contents[which - 1] == "It is old."
    assert contents[2 - which] == str(expected[2 - which].inside[-1]).split("'")[1]
    assert set(went.closed) >= {tools[which - 1]}
    assert tools[2 - which] not in went.closed


def test_a_fork_inside_a_sub_agent_reaches_the_agent_that_called_it() -> None:
    run = agent_run(NESTED)
    went = changed(run, 2, says("It is 299 metres high."), says("299 metres."), fork=number(run, StepType.MODEL, 2))
    assert results(went.asked(went.models[1])) == [("call_main.0.0", "It is 299 metres high.")]


@BOTH
def test_the_plan_names_the_loop_wherever_its_steps_lie(shape: Shape) -> None:
    run = agent_run(PARALLEL, shape=shape)
    fork = replay({"match": {"step": number(run, StepType.MODEL, 0)}, "model": {"temperature": 1}}, run=run)
    assert fork.plan().loop.startswith("Agent loop of 2 model steps whose messages extend each other under step 1")


def test_every_shape_stays_exact_without_a_change() -> None:
    talks: list[Sequence[Turn]] = [PARALLEL, NESTED, TEAM, ((RESEARCH, HEIGHT), (AGE,), ANSWER), (Says("Hello."),)]
    for turns in talks:
        for shape in ("flat", "nodes"):
            events = replay(
                run=agent_run(turns, shape="flat" if shape == "flat" else "nodes", interleaved=True)
            ).execute()
            assert len(events) == 1
