"""What counts as a call made again: within one turn, and only one that took place and succeeded."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from uuid import UUID

import pytest

from replay.core.calls import CachedAnswer
from replay.core.events import StepResolved
from replay.engine.replayer import Replayer
from replay.overrides.policy import Policy
from tests.support.replay_runs import ORDERS, POLICY, Asks, Says, Turn, order_desk
from tests.unit.replay.engine.test_replayer import MemoryEnvironment, replay
from traces.core.json_types import JSONValue
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepStatus, StepType

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
    found = [event for event in events if isinstance(event, StepResolved) and event.call.type is StepType.TOOL]
    return [f"{event.call.callee} {event.answer.status} {event.answer.reason}" for event in found]


def asking(step: int, *asked: Asks) -> JSONValue:
    called: list[JSONValue] = [
        {"id": f"new{at}", "name": one.tool, "arguments": one.arguments} for at, one in enumerate(asked)
    ]
    return {"match": {"step": step}, "output": {"content": None, "tool_calls": called}}


@pytest.mark.parametrize(("fork", "reason"), [(1, "source_output_reused"), (5, "side_effect_blocked")])
def test_a_call_of_an_earlier_turn_is_made_again(fork: int, reason: str) -> None:
    run = talk(("Where is it?", (LOOK_UP, LOST)), (AGAIN, (SEARCH, REFUND)))
    assert outcomes(run, asking(5, LOOK_UP), fork=fork) == [f"get_order ok {reason}"]


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


def test_a_call_that_failed_in_the_recording_is_retried_and_not_answered_with_its_failure() -> None:
    failed = replace(LOOK_UP, status=StepStatus.ERROR)
    run = talk(("Where is it?", (failed, SEARCH, LOST)))
    assert outcomes(run, asking(4, LOOK_UP))[0] == "get_order ok side_effect_blocked"


def test_a_recorded_call_that_nobody_asks_for_any_more_was_not_made() -> None:
    run = talk(("Where is it?", (LOOK_UP, SEARCH, LOST)))
    other = Asks("get_order", {"order_id": "A-2"}, None)
    first, *_, last = outcomes(run, asking(2, other), asking(6, LOOK_UP))
    assert [first, last] == ["get_order ok side_effect_blocked"] * 2


def test_a_call_that_nothing_answered_did_not_succeed() -> None:
    run = talk(("Where is it?", (LOOK_UP, LOST)))
    other = Asks("get_order", {"order_id": "A-2"}, None)
    assert outcomes(run, asking(2, other, other)) == ["get_order ok side_effect_blocked"] * 2


@dataclass
class Remembers(MemoryEnvironment):
    """A world in which another run made every call."""

    def cached(self, signature: str, *, exclude: Collection[UUID]) -> CachedAnswer | None:
        return CachedAnswer(output_ref="", output="sent", status=StepStatus.OK, location={})


@pytest.mark.parametrize(("to", "reason"), [("ada", "side_effect_blocked"), ("bob", "cache_hit_signature_match")])
def test_what_was_done_once_does_not_stand_for_doing_it_twice(to: str, reason: str) -> None:
    run = talk(("Tell Ada.", (Asks("send_email", {"to": "ada"}, "sent"), LOST)))
    declared: JSONValue = [{"name": "send_email", "idempotent": False}]
    steps = [
        replace(step, input={**step.input, "tools": declared})
        if step.type is StepType.MODEL and isinstance(step.input, dict)
        else step
        for step in run.steps
    ]
    fork = replay(asking(4, Asks("send_email", {"to": to}, None)), run=replace(run, steps=tuple(steps)))
    replayer = Replayer(fork.context(Remembers(payloads=fork.payloads)))
    found = [event for event in replayer.run() if isinstance(event, StepResolved) and event.call.type is StepType.TOOL]
    assert [event.answer.reason for event in found] == [reason]


def test_the_plan_says_where_a_call_that_was_not_recorded_ends_the_replay() -> None:
    run = talk(("Where is it?", (LOOK_UP, LOST)))
    fork = replay(asking(4, LOOK_UP), run=run, policy=Policy(allow=[], fallback="fail"))
    assert fork.plan().warnings[-1] == (
        "The replay will fail at step 6, which is not in the recording: "
        "nothing can answer it, and the policy's fallback is `fail`."
    )
