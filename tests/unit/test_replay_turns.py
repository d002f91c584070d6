"""What counts as a call made again: within one turn, and only one that took place and succeeded."""

from dataclasses import replace

import pytest

from replay.world import Resolved
from tests.replay_runs import ORDERS, POLICY, Asks, Says, Turn, order_desk
from tests.unit.test_replay_walk import replay
from traces.json_types import JSONValue
from traces.recording import RecordedRun
from traces.vocabulary import StepType

LOOK_UP = Asks("get_order", {"order_id": "A-1"}, ORDERS["A-1"])
SEARCH = Asks("search_policy", {"query": "what happens with lost parcels"}, POLICY)
LOST, REFUND = Says("Your order A-1 was lost on its way."), Says("You get a full refund.")
AGAIN = "Has anything happened to it since?"


def talk(*conversation: tuple[str, tuple[Turn, ...]]) -> RecordedRun:
    """A talk of which the recorder wrote one step after another, without steps around its turns."""
    run = order_desk(conversation)
    steps = [step for step in run.steps if step.type is not StepType.TURN]
    return replace(run, steps=tuple(replace(step, parent=step.parent and "agent") for step in steps))


def outcomes(run: RecordedRun, *entries: JSONValue, fork: int = 1) -> list[str]:
    """The tool steps from the fork on: what they are called, how they ended, and why."""
    events = replay(*entries, run=run, fork=fork).execute()
    found = [event for event in events if isinstance(event, Resolved) and event.call.type is StepType.TOOL]
    return [f"{event.call.called} {event.answer.status} {event.answer.reason}" for event in found]


def asking(step: int, *asked: Asks) -> JSONValue:
    called: list[JSONValue] = [
        {"id": f"new{at}", "name": one.tool, "arguments": one.arguments} for at, one in enumerate(asked)
    ]
    return {"match": {"step": step}, "output": {"content": None, "tool_calls": called}}


@pytest.mark.parametrize("fork", [1, 5])
def test_a_call_of_an_earlier_turn_is_made_again(fork: int) -> None:
    run = talk(("Where is it?", (LOOK_UP, LOST)), (AGAIN, (SEARCH, REFUND)))
    assert outcomes(run, asking(5, LOOK_UP), fork=fork) == ["get_order ok side_effect_blocked"]


@pytest.mark.parametrize("fork", [1, 3, 5, 7])
def test_a_call_that_succeeded_in_the_same_turn_is_not(fork: int) -> None:
    run = talk(("Where is it?", (LOST,)), (AGAIN, (LOOK_UP, SEARCH, REFUND)))
    found = outcomes(run, asking(7, LOOK_UP), fork=fork)
    assert found == ["get_order denied duplicate_suppressed"]


def test_a_call_that_the_operator_let_fail_is_retried() -> None:
    run = talk(("Where is it?", (LOOK_UP, SEARCH, LOST)))
    failing: JSONValue = {"match": {"step": 3}, "tool": {"output": "no connection", "status": "error"}}
    found = outcomes(run, failing, asking(4, LOOK_UP))
    assert found == ["get_order error simulation_operator_override", "get_order ok side_effect_blocked"]


def test_a_recorded_call_that_nobody_asks_for_any_more_was_not_made() -> None:
    run = talk(("Where is it?", (LOOK_UP, SEARCH, LOST)))
    other = Asks("get_order", {"order_id": "A-2"}, None)
    first, *_, last = outcomes(run, asking(2, other), asking(6, LOOK_UP))
    assert [first, last] == ["get_order ok side_effect_blocked"] * 2


def test_a_call_that_nothing_answered_did_not_succeed() -> None:
    run = talk(("Where is it?", (LOOK_UP, LOST)))
    other = Asks("get_order", {"order_id": "A-2"}, None)
    assert outcomes(run, asking(2, other, other)) == ["get_order ok side_effect_blocked"] * 2
