"""Hooks in the engine, without a database: on generated forks of every shape, and on runs made by hand."""

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
from tests.support.agent_runs import Asks, Says, agent_run
from tests.unit.replay.engine.test_replayer import MemoryEnvironment, Replay, labels, replay
from tests.unit.replay.planning.test_planner import accounted, forks, texts
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import HookEvent, Reason, StepStatus, StepType

Heard = tuple[HookEvent, JSONObject, int]
SAYS = [
    Outcome(hook="h", decision=decision)
    for decision in (Stop(reason="enough"), SystemMessage(text="be brief"), AppendContext(text="it rains"))
]
BEFORE = [
    Outcome(hook="h", decision=decision) for decision in (Deny(message="no"), ModifyArgs(args={"about": "old bridge"}))
]


class Listener:
    """Hooks that decide as told, and remember what they heard."""

    active = True

    def __init__(self, decide: Callable[[HookEvent, JSONObject], Outcome] = lambda event, payload: PASS) -> None:
        self.decide = decide
        self.heard: list[Heard] = []

    def fire(self, event: HookEvent, payload: JSONObject, *, step: int) -> Outcome:
        self.heard.append((event, payload, step))
        return self.decide(event, payload)

    def send_telemetry(self, event: str, payload: JSONObject) -> JSONObject:
        return {}

    @property
    def events(self) -> list[str]:
        return [str(event) for event, _, _ in self.heard]


def walked(of: Replay, hooks: Hooks, model: Callable[[Call], JSONObject] | None = None) -> list[Event]:
    world = MemoryEnvironment(payloads=of.payloads, model=model)
    return list(Replayer(of.context(world), hooks).run())


def answering(said: list[str]) -> Callable[[Call], JSONObject]:
    """A model that says these in turn, then the last again and again."""
    waiting = list(said)
    return lambda call: {"content": waiting.pop(0) if len(waiting) > 1 else waiting[0]}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(forks())
def test_hooks_that_let_everything_pass_change_nothing(fork: Replay) -> None:
    heard = Listener()
    assert walked(fork, heard, answering(["the old gate"])) == fork.execute(answering(["the old gate"]))
    balance = Counter(heard.events)
    assert balance["turn_start"] == balance["turn_end"]
    assert balance["pre_tool_use"] == balance["post_tool_use"] + balance["post_tool_use_failure"]


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(forks(), st.randoms(use_true_random=False), st.lists(texts, min_size=1, max_size=4))
def test_whatever_hooks_decide_every_source_step_is_accounted_for_once(
    fork: Replay, random: Any, said: list[str]
) -> None:
    def decide(event: HookEvent, payload: JSONObject) -> Outcome:
        if random.random() < 0.6:
            return PASS
        chosen: Outcome = random.choice(BEFORE if event is HookEvent.PRE_TOOL_USE else SAYS)
        return chosen

    heard = Listener(decide)
    events = walked(fork, heard, answering(said))
    numbers, seen = accounted(events)
    assert numbers == list(range(fork.fork, fork.fork + len(numbers)))
    assert set(seen) == {node.no for node in fork.graph.nodes}
    balance = Counter(heard.events)
    assert balance["turn_start"] == balance["turn_end"]
    assert balance["pre_tool_use"] == balance["post_tool_use"] + balance["post_tool_use_failure"]
    denied = [event for event in events if isinstance(event, StepResolved) and event.answer.reason is Reason.DENIED]
    assert all(event.answer.detail["hook"] and event.answer.status is StepStatus.DENIED for event in denied)


def decides(on: HookEvent, outcome: Outcome, *, once: bool = True) -> Listener:
    waiting = [outcome]

    def decide(event: HookEvent, payload: JSONObject) -> Outcome:
        if event is on and waiting:
            return waiting.pop() if once else waiting[0]
        return PASS

    return Listener(decide)


TALK = (
    [Asks("look_up", {"about": "the tower"}, "It is old.")],
    [Asks("measure", {"about": "the tower"}, "90 metres.")],
    Says("The old tower is 90 metres high."),
)


def anew(shape: str, interleaved: bool = False) -> Replay:
    """Every model step is asked anew, and says what it was recorded to say."""
    run = agent_run(TALK, shape=shape, interleaved=interleaved)  # type: ignore[arg-type]  # one of the shapes
    return Replay(run=run, fork=1, entries=[], policy=Policy(order="reexecute", allow=["model"]))


def as_recorded(of: Replay) -> Callable[[Call], JSONObject]:
    def model(call: Call) -> JSONObject:
        assert call.node is not None
        output: Any = of.payloads[call.node.output_ref]
        return dict(output["message"])

    return model


def models(events: list[Event]) -> list[StepResolved]:
    return [event for event in events if isinstance(event, StepResolved) and event.call.type is StepType.MODEL]


def asked(event: StepResolved) -> list[JSONValue]:
    input: Any = event.call.input
    messages: list[JSONValue] = input["messages"]
    return messages


def test_stop_at_the_end_of_a_turn_leaves_the_rest_out_in_every_shape() -> None:
    for shape in ("flat", "nodes"):
        of = anew(shape)
        events = walked(of, decides(HookEvent.TURN_END, SAYS[0]), as_recorded(of))
        assert len(models(events)) == 1, shape
        said = [event.text for event in events if isinstance(event, Divergence)]
        assert any("The hook 'h' stopped the agent: enough" in text for text in said), shape
        gone = {event.node.type for event in events if isinstance(event, StepSkipped)}
        assert {StepType.MODEL, StepType.TOOL} <= gone, shape


def test_stop_before_the_first_call_asks_no_model() -> None:
    of = anew("flat")
    listener = Listener()
    replayer = Replayer(of.context(MemoryEnvironment(payloads=of.payloads, model=as_recorded(of))), listener)
    replayer.apply_start_outcome(SAYS[0])
    assert models(list(replayer.run())) == []
    assert listener.events == []


def test_a_message_stands_at_the_end_of_the_next_request_in_every_shape_and_stays() -> None:
    for shape in ("flat", "nodes"):
        of = anew(shape)
        events = walked(of, decides(HookEvent.TURN_END, SAYS[1]), as_recorded(of))
        first, second, third = [asked(event) for event in models(events)]
        brief: JSONValue = {"role": "system", "content": "be brief"}
        assert brief not in first, shape
        assert second[-1] == brief, shape
        assert third.count(brief) == 1, shape
        assert third.index(brief) == len(second) - 1, shape
        hooks = [event.answer.detail.get("hooks") for event in models(events)]
        assert hooks == [None, [{"name": "h", "action": "system_message", "text": "be brief"}], None], shape


def test_a_message_reaches_a_model_step_that_would_have_been_kept() -> None:
    entry: JSONValue = {"match": {"step": 3}, "model": {"temperature": 0.5}}
    of = replay(entry)
    plain = labels(of.execute(as_recorded(of)))
    heard = labels(walked(of, decides(HookEvent.TURN_END, SAYS[2]), as_recorded(of)))
    assert plain[5] == "exact source_output_reused"
    assert heard[5] == "simulated live_model_call"


def test_a_turn_that_fails_is_over_and_its_call_has_failed() -> None:
    of = anew("flat")
    heard = Listener()

    def broken(call: Call) -> JSONObject:
        raise ReplayFailure("provider_error", "down", step=call.no)

    with pytest.raises(ReplayFailure, match="down"):
        walked(of, heard, broken)
    assert heard.events == ["turn_start", "turn_end"]
