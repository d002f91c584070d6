"""Loops with parallel calls, calls in containers, and sub-agents are followed."""

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
    ORIGIN,
    PARALLEL,
    RESEARCH,
    SUB_AGENT,
    TEAM,
    Reply,
    Shape,
    ToolCall,
    Turn,
    agent_run,
)
from tests.support.memory_replays import Replay, labels, replay, resolved_step
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepType

BOTH_SHAPES = pytest.mark.parametrize("shape", ["flat", "nodes"])
BRIDGE_CALL = ToolCall("measure", {"what": "the bridge"})


def calls(*requests: ToolCall) -> JSONObject:
    return {
        "content": None,
        "tool_calls": [
            {"id": f"live{at}", "name": request.tool, "arguments": request.arguments}
            for at, request in enumerate(requests)
        ],
    }


def final_answer(text: str) -> JSONObject:
    return {"content": text}


def script(*answers: JSONObject) -> Callable[[Call], JSONObject]:
    """A model that gives these answers in order."""
    waiting = iter(answers)
    return lambda call: next(waiting)


def number(run: RecordedRun, type: StepType, index: int) -> int:
    """Number of the step of a type at `index`, from 0."""
    return [at for at, step in enumerate(run.steps, 1) if step.type is type][index]


def replay_answers(
    run: RecordedRun, index: int, *answers: JSONObject, fork: int = 1, policy: Policy | None = None
) -> "ReplayOutcome":
    """Replay with these answers of the model step at `index` and those after it."""
    entry: JSONValue = {"match": {"step": number(run, StepType.MODEL, index)}, "model": {"temperature": 1}}
    fork_of = replay(entry, run=run, fork=fork, policy=policy)
    return ReplayOutcome(fork_of, fork_of.execute(script(*answers)))


class ReplayOutcome:
    """Events of one replay and what they contain."""

    def __init__(self, replay: Replay, events: list[Event]) -> None:
        self.replay = replay
        self.events = events

    def step(self, no: int) -> str:
        return self.replay.run.steps[no - 1].key

    @property
    def tools(self) -> list[str]:
        """Derived tool steps in order: tool, label, and the recorded step that answered."""
        resolutions = [
            event for event in self.events if isinstance(event, StepResolved) and event.call.type is StepType.TOOL
        ]
        return [
            f"{event.call.callee} {event.answer.label}{f' {event.answer.source.no}' if event.answer.source else ''}"
            for event in resolutions
        ]

    @property
    def skipped_steps(self) -> list[int]:
        return [event.node.no for event in self.events if isinstance(event, StepSkipped)]

    @property
    def closed(self) -> dict[int, JSONValue]:
        return {event.node.no: event.output for event in self.events if isinstance(event, ContainerClosed)}

    @property
    def divergences(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Divergence)]

    def messages_of(self, no: int) -> list[JSONObject]:
        """Messages of a model call of the derived run."""
        input = resolved_step(self.events, no).call.input
        assert isinstance(input, dict)
        messages = input["messages"]
        assert isinstance(messages, list)
        return [message for message in messages if isinstance(message, dict)]

    @property
    def models(self) -> list[int]:
        resolutions = [event for event in self.events if isinstance(event, StepResolved)]
        return [event.call.no for event in resolutions if event.call.type is StepType.MODEL]


def results(messages: Sequence[JSONObject]) -> list[tuple[JSONValue, JSONValue]]:
    return [(message["tool_call_id"], message["content"]) for message in messages if message["role"] == "tool"]


@BOTH_SHAPES
def test_parallel_calls_keep_recorded_order(shape: Shape) -> None:
    run = agent_run(PARALLEL, shape=shape)
    outcome = replay_answers(run, 0, calls(BUILDER, AGE, HEIGHT), final_answer("done"))
    height, builder = number(run, StepType.TOOL, 0), number(run, StepType.TOOL, 1)
    assert outcome.tools == [f"measure exact {height}", "look_up simulated", f"look_up exact {builder}"]
    assert results(outcome.messages_of(outcome.models[1])) == [
        ("call_main.0.0", HEIGHT.result),
        ("live1", "[Forkpoint] Tool 'look_up' blocked (side effect, no cache available)"),
        ("call_main.0.1", BUILDER.result),
    ]
    assert outcome.skipped_steps == []


@BOTH_SHAPES
def test_unrequested_parallel_call_is_skipped(shape: Shape) -> None:
    run = agent_run(PARALLEL, shape=shape)
    outcome = replay_answers(run, 0, calls(BUILDER), final_answer("done"))
    assert outcome.tools == [f"look_up exact {number(run, StepType.TOOL, 1)}"]
    assert outcome.skipped_steps == [number(run, StepType.TOOL, 0)]
    assert [identity for identity, _ in results(outcome.messages_of(outcome.models[1]))] == ["call_main.0.1"]


def test_new_steps_have_containers() -> None:
    outcome = replay_answers(
        agent_run(PARALLEL, shape="nodes"), 0, calls(AGE), calls(BRIDGE_CALL), final_answer("done")
    )
    calls_by_number = {event.call.no: event.call for event in outcome.events if isinstance(event, StepResolved)}
    assert [step.name for step in calls_by_number.values() if step.type is StepType.AGENT] == ["tools", "agent"]
    parents = [calls_by_number[no].parent for no in outcome.models]
    assert parents[2] is not None
    assert calls_by_number[parents[2]].name == "agent"
    assert calls_by_number[parents[2]].parent == 1


@BOTH_SHAPES
def test_sub_agent_answer_is_call_result(shape: Shape) -> None:
    run = agent_run(SUB_AGENT, shape=shape)
    outcome = replay_answers(run, 1, calls(BUILDER), final_answer("Nobody knows."), final_answer("I cannot say."))
    tool = number(run, StepType.TOOL, 0)
    assert outcome.closed[tool] == "Nobody knows."
    assert results(outcome.messages_of(outcome.models[2])) == [("call_main.0.0", "Nobody knows.")]
    assert outcome.skipped_steps == [number(run, StepType.TOOL, 1)]
    assert labels(outcome.events)[tool] == "simulated derived"


@BOTH_SHAPES
def test_changed_sub_agent_diverges_outer_loop(shape: Shape) -> None:
    run = agent_run(SUB_AGENT, shape=shape)
    outcome = replay_answers(run, 1, final_answer("Ask somebody else."), calls(AGE), final_answer("It is old."))
    assert outcome.tools == ["look_up simulated"]
    assert {number(run, StepType.TOOL, 1), number(run, StepType.MODEL, 2)} <= set(outcome.skipped_steps)
    assert [message["role"] for message in outcome.messages_of(outcome.models[-1])][-2:] == ["assistant", "tool"]


@BOTH_SHAPES
def test_uncalled_sub_agent_is_skipped_whole(shape: Shape) -> None:
    run = agent_run(SUB_AGENT, shape=shape)
    outcome = replay_answers(run, 0, final_answer("I know: 300 metres."))
    first, last = number(run, StepType.TOOL, 0), number(run, StepType.MODEL, 3)
    assert set(range(first, last + 1)) <= set(outcome.skipped_steps)
    assert outcome.closed[1] == {"text": "I know: 300 metres."}


@BOTH_SHAPES
def test_rerun_sub_agent_keeps_system_prompt(shape: Shape) -> None:
    run = agent_run(SUB_AGENT, shape=shape)
    new_call = ToolCall("research", {"task": "find out how wide the bridge is"})
    outcome = replay_answers(
        run, 0, calls(new_call), calls(BRIDGE_CALL), final_answer("It is 9 metres wide."), final_answer("9 metres.")
    )
    assert outcome.messages_of(outcome.models[1]) == [
        {"role": "system", "content": "You research."},
        {"role": "user", "content": "Task: find out how wide the bridge is"},
    ]
    assert outcome.closed[number(run, StepType.TOOL, 0)] == "It is 9 metres wide."
    assert results(outcome.messages_of(outcome.models[3])) == [("call_main.0.0", "It is 9 metres wide.")] or results(
        outcome.messages_of(outcome.models[3])
    ) == [("live0", "It is 9 metres wide.")]
    assert any("find out how wide the bridge is" in text for text in outcome.divergences)


def test_sub_agent_needs_live_models() -> None:
    run = agent_run(SUB_AGENT)
    new_call: JSONValue = {"id": "x", "name": "research", "arguments": {"task": "find out how wide the bridge is"}}
    new: JSONValue = {"id": "y", "name": "look_up", "arguments": {"who": "built the bridge"}}
    what_if: JSONValue = {"match": {"step": 2}, "output": {"content": None, "tool_calls": [new_call, new]}}
    events = replay(what_if, run=run, policy=Policy(allow=[])).execute()
    assert labels(events)[4] == "unreached"
    texts = [event.text for event in events if isinstance(event, Divergence)]
    assert sum("the policy allows no live model calls" in text for text in texts) == 1


@BOTH_SHAPES
@pytest.mark.parametrize("index", [1, 2])
def test_one_of_interleaved_sub_agents_diverges(shape: Shape, index: int) -> None:
    run = agent_run(TEAM, shape=shape, is_interleaved=True)
    outcome = replay_answers(run, index, calls(AGE), final_answer("It is old."), final_answer("Old and high."))
    tools = [number(run, StepType.TOOL, 0), number(run, StepType.TOOL, 1)]
    contents = [content for _, content in results(outcome.messages_of(outcome.models[-1]))]
    expected = [RESEARCH, ORIGIN]
    assert contents[index - 1] == "It is old."
    assert contents[2 - index] == str(expected[2 - index].turns[-1]).split("'")[1]
    assert set(outcome.closed) >= {tools[index - 1]}
    assert tools[2 - index] not in outcome.closed


def test_fork_inside_sub_agent_reaches_caller() -> None:
    run = agent_run(SUB_AGENT)
    outcome = replay_answers(
        run, 2, final_answer("It is 299 metres high."), final_answer("299 metres."), fork=number(run, StepType.MODEL, 2)
    )
    assert results(outcome.messages_of(outcome.models[1])) == [("call_main.0.0", "It is 299 metres high.")]


@BOTH_SHAPES
def test_plan_names_loop_in_containers(shape: Shape) -> None:
    run = agent_run(PARALLEL, shape=shape)
    fork = replay({"match": {"step": number(run, StepType.MODEL, 0)}, "model": {"temperature": 1}}, run=run)
    assert fork.plan().loop.startswith("Agent loop of 2 model steps whose messages extend each other under step 1")


def test_unchanged_shapes_stay_exact() -> None:
    talks: list[Sequence[Turn]] = [PARALLEL, SUB_AGENT, TEAM, ((RESEARCH, HEIGHT), (AGE,), ANSWER), (Reply("Hello."),)]
    for turns in talks:
        for shape in ("flat", "nodes"):
            events = replay(
                run=agent_run(turns, shape="flat" if shape == "flat" else "nodes", is_interleaved=True)
            ).execute()
            assert len(events) == 1
