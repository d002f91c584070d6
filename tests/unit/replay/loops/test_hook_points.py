"""Hooks in the engine without a database, on generated forks of every shape and on handmade runs."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replay.core.calls import Call
from replay.core.errors import ReplayFailure
from replay.core.events import Divergence, Event, StepResolved, StepSkipped
from replay.core.hooks import PASS, AppendContext, Deny, Hooks, ModifyArgs, Outcome, Stop, SystemMessage
from replay.engine.replayer import Replayer
from replay.overrides.policy import Policy
from tests.support.agent_runs import Reply, ToolCall, agent_run
from tests.support.memory_replays import MemoryEnvironment, Replay, assert_every_step_counts_once, labels, replay
from tests.unit.replay.planning.test_planner import forks, texts
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import HookEvent, Reason, StepStatus, StepType

HookCall = tuple[HookEvent, JSONObject, int]
SAYS = [
    Outcome(hook="h", decision=decision)
    for decision in (Stop(reason="enough"), SystemMessage(text="be brief"), AppendContext(text="it rains"))
]
BEFORE = [
    Outcome(hook="h", decision=decision) for decision in (Deny(message="no"), ModifyArgs(args={"about": "old bridge"}))
]


class Listener:
    """Hooks with given decisions that record their calls."""

    active = True

    def __init__(self, decide: Callable[[HookEvent, JSONObject], Outcome] = lambda event, payload: PASS) -> None:
        self.decide = decide
        self.calls: list[HookCall] = []

    def fire(self, event: HookEvent, payload: JSONObject, *, step: int) -> Outcome:
        self.calls.append((event, payload, step))
        return self.decide(event, payload)

    def send_telemetry(self, event: str, payload: JSONObject) -> JSONObject:
        return {}

    @property
    def events(self) -> list[str]:
        return [str(event) for event, _, _ in self.calls]


def run_hooked(fork: Replay, hooks: Hooks, model: Callable[[Call], JSONObject] | None = None) -> list[Event]:
    world = MemoryEnvironment(payloads=fork.payloads, model=model)
    return list(Replayer(fork.context(world), hooks).run())


def answering(answers: list[str]) -> Callable[[Call], JSONObject]:
    """A model that gives these answers in turn, then repeats the last one."""
    waiting = list(answers)
    return lambda call: {"content": waiting.pop(0) if len(waiting) > 1 else waiting[0]}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(forks())
def test_allowing_hooks_change_nothing(fork: Replay) -> None:
    listener = Listener()
    assert run_hooked(fork, listener, answering(["the old gate"])) == fork.execute(answering(["the old gate"]))
    balance = Counter(listener.events)
    assert balance["turn_start"] == balance["turn_end"]
    assert balance["pre_tool_use"] == balance["post_tool_use"] + balance["post_tool_use_failure"]


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(forks(), st.randoms(use_true_random=False), st.lists(texts, min_size=1, max_size=4))
def test_hooked_replay_counts_every_step_once(fork: Replay, random: Any, answers: list[str]) -> None:
    def decide(event: HookEvent, payload: JSONObject) -> Outcome:
        if random.random() < 0.6:
            return PASS
        outcome: Outcome = random.choice(BEFORE if event is HookEvent.PRE_TOOL_USE else SAYS)
        return outcome

    listener = Listener(decide)
    events = run_hooked(fork, listener, answering(answers))
    assert_every_step_counts_once(fork, events)
    balance = Counter(listener.events)
    assert balance["turn_start"] == balance["turn_end"]
    assert balance["pre_tool_use"] == balance["post_tool_use"] + balance["post_tool_use_failure"]
    denials = [event for event in events if isinstance(event, StepResolved) and event.answer.reason is Reason.DENIED]
    assert all(event.answer.detail["hook"] and event.answer.status is StepStatus.DENIED for event in denials)


def decides(hook_event: HookEvent, outcome: Outcome, *, only_once: bool = True) -> Listener:
    waiting = [outcome]

    def decide(event: HookEvent, payload: JSONObject) -> Outcome:
        if event is hook_event and waiting:
            return waiting.pop() if only_once else waiting[0]
        return PASS

    return Listener(decide)


TALK = (
    [ToolCall("look_up", {"about": "the tower"}, "It is old.")],
    [ToolCall("measure", {"about": "the tower"}, "90 metres.")],
    Reply("The old tower is 90 metres high."),
)


def new_replay(shape: str, is_interleaved: bool = False) -> Replay:
    """A fork in which every model step is called again and repeats its recorded answer."""
    run = agent_run(TALK, shape=shape, is_interleaved=is_interleaved)  # type: ignore[arg-type]  # one of the shapes
    return Replay(run=run, fork=1, entries=[], policy=Policy(order="reexecute", allow=["model"]))


def as_recorded(fork: Replay) -> Callable[[Call], JSONObject]:
    def model(call: Call) -> JSONObject:
        assert call.node is not None
        output: Any = fork.payloads[call.node.output_ref]
        return dict(output["message"])

    return model


def models(events: list[Event]) -> list[StepResolved]:
    return [event for event in events if isinstance(event, StepResolved) and event.call.type is StepType.MODEL]


def messages_of(event: StepResolved) -> list[JSONValue]:
    input: Any = event.call.input
    messages: list[JSONValue] = input["messages"]
    return messages


def test_stop_at_turn_end_skips_rest() -> None:
    for shape in ("flat", "nodes"):
        fork = new_replay(shape)
        events = run_hooked(fork, decides(HookEvent.TURN_END, SAYS[0]), as_recorded(fork))
        assert len(models(events)) == 1, shape
        answers = [event.text for event in events if isinstance(event, Divergence)]
        assert any("The hook 'h' stopped the agent: enough" in text for text in answers), shape
        skipped_types = {event.node.type for event in events if isinstance(event, StepSkipped)}
        assert {StepType.MODEL, StepType.TOOL} <= skipped_types, shape


def test_stop_at_start_calls_no_model() -> None:
    fork = new_replay("flat")
    listener = Listener()
    replayer = Replayer(fork.context(MemoryEnvironment(payloads=fork.payloads, model=as_recorded(fork))), listener)
    replayer.apply_start_outcome(SAYS[0])
    assert models(list(replayer.run())) == []
    assert listener.events == []


def test_hook_message_stays_in_requests() -> None:
    for shape in ("flat", "nodes"):
        fork = new_replay(shape)
        events = run_hooked(fork, decides(HookEvent.TURN_END, SAYS[1]), as_recorded(fork))
        first, second, third = [messages_of(event) for event in models(events)]
        brief: JSONValue = {"role": "system", "content": "be brief"}
        assert brief not in first, shape
        assert second[-1] == brief, shape
        assert third.count(brief) == 1, shape
        assert third.index(brief) == len(second) - 1, shape
        hooks = [event.answer.detail.get("hooks") for event in models(events)]
        assert hooks == [None, [{"name": "h", "action": "system_message", "text": "be brief"}], None], shape


def test_hook_message_reaches_unchanged_step() -> None:
    entry: JSONValue = {"match": {"step": 3}, "model": {"temperature": 0.5}}
    fork = replay(entry)
    plain = labels(fork.execute(as_recorded(fork)))
    listener = labels(run_hooked(fork, decides(HookEvent.TURN_END, SAYS[2]), as_recorded(fork)))
    assert plain[5] == "exact source_output_reused"
    assert listener[5] == "simulated live_model_call"


def test_failed_call_ends_its_turn() -> None:
    fork = new_replay("flat")
    listener = Listener()

    def broken(call: Call) -> JSONObject:
        raise ReplayFailure("provider_error", "down", step=call.no)

    with pytest.raises(ReplayFailure, match="down"):
        run_hooked(fork, listener, broken)
    assert listener.events == ["turn_start", "turn_end"]


def test_only_live_calls_have_attempts() -> None:
    message: JSONValue = {"content": "I do not know."}
    fork = replay({"match": {"step": 3}, "output": message}, {"match": {"step": 8}, "model": {"temperature": 0.5}})
    listener = Listener()
    run_hooked(fork, listener, as_recorded(fork))
    attempts = [payload["attempts"] for event, payload, _ in listener.calls if event is HookEvent.TURN_END]
    assert attempts == [0, 1]
