"""Duplicate calls: within one turn, and only of calls that were made and succeeded."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from uuid import UUID

import pytest

from forkpoint.vocabulary import MCP_SERVER
from replay.core.calls import CachedAnswer
from replay.core.events import StepResolved
from replay.engine.replayer import Replayer
from replay.overrides.policy import Policy
from tests.support.memory_replays import MemoryEnvironment, replay
from tests.support.replay_runs import ORDERS, POLICY, Reply, ToolCall, Turn, order_desk
from traces.core.json_types import JSONValue
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepStatus, StepType

LOOK_UP = ToolCall("get_order", {"order_id": "A-1"}, ORDERS["A-1"])
SEARCH = ToolCall("search_policy", {"query": "what happens with lost parcels"}, POLICY)
LOSS, REFUND = Reply("Your order A-1 was lost on its way."), Reply("You get a full refund.")
FOLLOW_UP = "Has anything happened to it since?"


def talk(*conversation: tuple[str, tuple[Turn, ...]]) -> RecordedRun:
    """A run without containers for its turns."""
    run = order_desk(conversation)
    steps = [step for step in run.steps if step.type is not StepType.TURN]
    return replace(run, steps=tuple(replace(step, parent=step.parent and "agent") for step in steps))


def outcomes(run: RecordedRun, *entries: JSONValue, fork: int = 1) -> list[str]:
    """Tool, status and reason of the tool steps from the fork on."""
    events = replay(*entries, run=run, fork=fork).execute()
    resolutions = [event for event in events if isinstance(event, StepResolved) and event.call.type is StepType.TOOL]
    return [f"{event.call.callee} {event.answer.status} {event.answer.reason}" for event in resolutions]


def asking(step: int, *requests: ToolCall) -> JSONValue:
    tool_calls: list[JSONValue] = [
        {"id": f"new{at}", "name": request.tool, "arguments": request.arguments} for at, request in enumerate(requests)
    ]
    return {"match": {"step": step}, "output": {"content": None, "tool_calls": tool_calls}}


@pytest.mark.parametrize(("fork", "reason"), [(1, "cache_hit_signature_match"), (5, "side_effect_blocked")])
def test_call_of_earlier_turn_is_repeated(fork: int, reason: str) -> None:
    run = talk(("Where is it?", (LOOK_UP, LOSS)), (FOLLOW_UP, (SEARCH, REFUND)))
    assert outcomes(run, asking(5, LOOK_UP), fork=fork) == [f"get_order ok {reason}"]


def test_failed_call_of_the_recording_is_not_repeated() -> None:
    failure = replace(LOOK_UP, status=StepStatus.ERROR)
    run = talk(("Where is it?", (failure, LOSS)))
    results = outcomes(run, asking(2, LOOK_UP, LOOK_UP))
    assert results == ["get_order error source_output_reused", "get_order ok side_effect_blocked"]


@pytest.mark.parametrize("fork", [1, 3, 5, 7])
def test_successful_call_is_not_repeated(fork: int) -> None:
    run = talk(("Where is it?", (LOSS,)), (FOLLOW_UP, (LOOK_UP, SEARCH, REFUND)))
    results = outcomes(run, asking(7, LOOK_UP), fork=fork)
    assert results == ["get_order denied duplicate_suppressed"]


def test_call_with_overridden_failure_is_retried() -> None:
    run = talk(("Where is it?", (LOOK_UP, SEARCH, LOSS)))
    failing: JSONValue = {"match": {"step": 3}, "tool": {"output": "no connection", "status": "error"}}
    results = outcomes(run, failing, asking(4, LOOK_UP))
    assert results == ["get_order error simulation_operator_override", "get_order ok side_effect_blocked"]


def test_recorded_failure_is_retried() -> None:
    failed = replace(LOOK_UP, status=StepStatus.ERROR)
    run = talk(("Where is it?", (failed, SEARCH, LOSS)))
    assert outcomes(run, asking(4, LOOK_UP))[0] == "get_order ok side_effect_blocked"


def test_skipped_call_was_not_made() -> None:
    run = talk(("Where is it?", (LOOK_UP, SEARCH, LOSS)))
    new_call = ToolCall("get_order", {"order_id": "A-2"}, None)
    first, *_, last = outcomes(run, asking(2, new_call), asking(6, LOOK_UP))
    assert [first, last] == ["get_order ok side_effect_blocked"] * 2


def test_unanswered_call_did_not_succeed() -> None:
    run = talk(("Where is it?", (LOOK_UP, LOSS)))
    new_call = ToolCall("get_order", {"order_id": "A-2"}, None)
    assert outcomes(run, asking(2, new_call, new_call)) == ["get_order ok side_effect_blocked"] * 2


@dataclass
class Remembers(MemoryEnvironment):
    """An environment in which another run made every call."""

    def cached(self, signature: str, *, exclude: Collection[UUID]) -> CachedAnswer | None:
        return CachedAnswer(output_ref="", output="sent", status=StepStatus.OK, location={})


@pytest.mark.parametrize(
    ("recipient", "reason"), [("ada", "side_effect_blocked"), ("bob", "cache_hit_signature_match")]
)
def test_non_idempotent_call_is_not_reused(recipient: str, reason: str) -> None:
    run = talk(("Tell Ada.", (ToolCall("send_email", {"to": "ada"}, "sent"), LOSS)))
    tools: JSONValue = [{"name": "send_email", "idempotent": False}]
    steps = [
        replace(step, input={**step.input, "tools": tools})
        if step.type is StepType.MODEL and isinstance(step.input, dict)
        else step
        for step in run.steps
    ]
    fork = replay(asking(4, ToolCall("send_email", {"to": recipient}, None)), run=replace(run, steps=tuple(steps)))
    replayer = Replayer(fork.context(Remembers(payloads=fork.payloads)))
    x = [event for event in replayer.run() if isinstance(event, StepResolved) and event.call.type is StepType.TOOL]
    assert [event.answer.reason for event in x] == [reason]


def test_plan_names_unanswerable_new_call() -> None:
    run = talk(("Where is it?", (LOOK_UP, LOSS)))
    fork = replay(asking(4, LOOK_UP), run=run, policy=Policy(allow=[], fallback="fail"))
    assert fork.plan().warnings[-1] == (
        "The replay will fail at step 6, which is not in the recording: "
        "nothing can answer it, and the policy's fallback is `fail`."
    )


@pytest.mark.parametrize(("other", "reason"), [("desk", "source_output_reused"), ("branch", "side_effect_blocked")])
def test_call_is_answered_by_its_server_alone(other: str, reason: str) -> None:
    run = talk(("Where is it?", (LOOK_UP, SEARCH, LOOK_UP, LOSS)))
    fork = replay(asking(2, LOOK_UP, SEARCH), run=run)
    numbers = [node.no for node in fork.graph.nodes if node.callee == "get_order"]
    servers = {no: {MCP_SERVER: name} for no, name in zip(numbers, ("desk", other), strict=True)}
    graph = replace(fork.graph, load_servers=lambda: servers)
    context = replace(fork.context(MemoryEnvironment(payloads=fork.payloads)), graph=graph)
    steps = [event for event in Replayer(context).run() if isinstance(event, StepResolved)]
    assert next(step.answer.reason for step in steps if step.call.callee == "get_order") == reason
