"""The replayer without a database: plans and executions of handmade and generated runs."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.core.calls import Answer, Call
from replay.core.events import StepResolved, StepsReused
from replay.core.graph import Graph
from replay.overrides.policy import Policy
from replay.planning import conflicts
from tests.support.generated_forks import asks, forks, texts
from tests.support.memory_replays import (
    Replay,
    assert_every_step_counts_once,
    labels,
    planned_labels,
    replay,
    resolved_step,
)
from tests.support.recordings import assistant, model_step, user
from tests.support.replay_runs import CONVERSATION, ORDERS, ToolCall, order_desk
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import Label, Reason, StepType

WRONG: JSONValue = {"match": {"step": 4}, "tool": {"output": {"status": "not found"}}}


def test_placeholder_keeps_recorded_structure() -> None:
    labels_by_step = labels(replay(WRONG).execute())
    assert labels_by_step == {
        1: "simulated derived",
        2: "simulated derived",
        3: "exact source_output_reused",
        4: "simulated simulation_operator_override",
        5: "simulated simulation_policy_fallback",
        6: "simulated assumed_unaffected",  # The placeholder may not request it.
        7: "simulated simulation_policy_fallback",
        8: "simulated derived",
        9: "simulated simulation_policy_fallback",
        10: "simulated simulation_policy_fallback",
    }


def test_plan_says_why_steps_get_placeholders() -> None:
    warning = "Steps 5, 7, 9 and 10 get placeholders, because nothing can answer them."
    plan = replay(WRONG).plan()
    assert plan.warnings[0] == f"{warning} Step 5: No configured provider serves m1."
    notes = {step.sequence_no: step.note for step in plan.steps}
    assert notes[6] == "Assumed unaffected: it is unknown whether step 5 would still request this call"


def test_plan_follows_the_calls_of_the_recording_after_a_live_answer() -> None:
    assert planned_labels(replay(WRONG).plan(live=True))[6] == "exact source_output_reused"


def test_equal_answer_stops_change() -> None:
    payloads: dict[str, JSONValue] = {}

    def same(call: Call) -> JSONObject:
        assert call.node is not None
        output = payloads[call.node.output_ref]
        assert isinstance(output, dict)
        message = output["message"]
        assert isinstance(message, dict)
        return message

    fork = replay({"match": {"step": 9}, "model": {"temperature": 1}})
    payloads.update(fork.payloads)
    labels_by_step = labels(fork.execute(same))
    assert {no: label for no, label in labels_by_step.items() if not label.startswith("exact")} == {
        1: "simulated derived",
        8: "simulated derived",
        9: "simulated live_model_call",
    }


def test_call_without_recorded_arguments_is_reused() -> None:
    run = order_desk()
    bare = [replace(step, input=None) if step.type is StepType.TOOL else step for step in run.steps]
    fork = replay({"match": {"step": 3}, "model": {"temperature": 1}}, run=replace(run, steps=tuple(bare)))
    request: JSONValue = {"id": "other", "name": "get_order", "arguments": {"order_id": "A-1"}}
    labels_by_step = labels(
        fork.execute(lambda call: {"content": "Let me see.", "tool_calls": [request]} if call.no == 3 else {})
    )
    assert labels_by_step[4] == "exact source_output_reused"


def test_call_of_code_after_a_loop_is_no_part_of_it() -> None:
    run = order_desk(CONVERSATION[:1])
    *steps, last_answer, output = run.steps
    save = RecordedStep(
        key="save", type=StepType.TOOL, name="save", tool_name="save", parent=last_answer.parent, input={}, output="ok"
    )
    run = replace(run, steps=(*steps, last_answer, save, output))
    fork = replay({"match": {"step": 3}, "output": "It is lost."}, run=run)
    labels_by_step = labels(fork.execute())
    assert labels_by_step == planned_labels(fork.plan())
    assert [labels_by_step[no] for no in (4, 6, 8)] == ["unreached", "unreached", "exact source_output_reused"]


def test_zero_and_empty_are_values() -> None:
    events = replay(
        {"match": {"step": 9}, "model": {"temperature": 0, "max_tokens": 0, "stop": []}},
        run=order_desk(parameters={"temperature": 0.7}),
    ).execute()
    input = resolved_step(events, 9).call.input
    assert isinstance(input, dict)
    assert input["parameters"] == {"temperature": 0, "max_tokens": 0, "stop": []}


def test_system_prompt_stays_in_history() -> None:
    events = replay({"match": {"step": 3}, "prompt": {"system": "Be brief."}}).execute()
    for no in (3, 5, 7, 9):
        input = resolved_step(events, no).call.input
        assert isinstance(input, dict)
        messages = input["messages"]
        assert isinstance(messages, list)
        assert messages[0] == {"role": "system", "content": "Be brief."}


def test_message_edits_use_recorded_index() -> None:
    edits: JSONValue = [
        {"op": "delete", "index": 0},
        {"op": "insert", "index": 1, "role": "system", "content": "first"},
        {"op": "replace", "index": 1, "content": "Where is A-2?"},
        {"op": "insert", "index": 2, "content": "last"},
    ]
    input = resolved_step(replay({"match": {"step": 3}, "messages": edits}).execute(), 3).call.input
    assert isinstance(input, dict)
    assert input["messages"] == [
        {"role": "system", "content": "first"},
        {"role": "user", "content": "Where is A-2?"},
        {"role": "user", "content": "last"},
    ]


def test_tool_result_replaces_its_message() -> None:
    input = resolved_step(replay({"match": {"step": 4}, "tool": {"output": ORDERS["A-2"]}}).execute(), 5).call.input
    assert isinstance(input, dict)
    messages = input["messages"]
    assert isinstance(messages, list)
    assert messages[-1] == {
        "role": "tool",
        "content": '{"id": "A-2", "status": "delivered on monday", "carrier": "southern parcels"}',
        "tool_call_id": "call_turn1.0",
    }


def test_plan_describes_recognised_loop() -> None:
    assert replay(WRONG).plan().loop == (
        "Agent loop of 3 model steps whose messages extend each other under step 2, steps 3 to 7"
    )


def test_reexecute_calls_every_model() -> None:
    labels_by_step = labels(replay(policy=Policy(order="reexecute")).execute(lambda call: {"content": "new"}))
    assert labels_by_step[3] == "simulated live_model_call"
    assert labels_by_step[9] == "simulated live_model_call"


def test_reexecution_needs_live_calls() -> None:
    policy = Policy(order="reexecute")
    (refusal,) = replay(policy=policy).plan().refusals
    assert (refusal.code, refusal.where, refusal.step) == ("policy_conflict", "/policy/order", 3)
    assert replay(policy=policy).plan(live=True).refusals == []
    partly = replay(policy=Policy(order="reexecute", allow=["model", "tool"])).plan(live=True)
    assert "Steps 4 and 6 cannot be executed again; recorded or cached output is reused." in partly.warnings
    nothing = replay(policy=Policy(order="reexecute", allow=["retrieval"])).plan(live=True)
    assert (nothing.warnings, nothing.refusals) == (
        ["Nothing is executed again: `allow` lists retrieval, and no such call follows."],
        [],
    )


def test_strict_plan_names_failing_step() -> None:
    override: JSONValue = {"match": {"step": 4}, "tool": {"output": {"status": "not found"}}}
    for fallback in ("simulate", "fail"):
        policy = Policy(strict=True, allow=[], fallback=fallback)
        (refusal,) = [
            refusal for refusal in replay(override, policy=policy).plan().refusals if refusal.where == "/policy/strict"
        ]
        assert refusal.step == 4


def test_strict_plan_refuses_new_calls() -> None:
    call = Call(no=8, parent=None, type=StepType.TOOL, name="refund", input={})
    answer = Answer(action="simulate", label=Label.SIMULATED, reason=Reason.SIDE_EFFECT_BLOCKED)
    event = StepResolved(call=call, answer=answer)
    (refusal,) = conflicts.strict(Policy(strict=True), [], [event])
    assert (refusal.where, refusal.step, "refund" in refusal.detail) == ("/policy/strict", 8, True)
    assert list(conflicts.strict(Policy(), [], [event])) == []


@settings(max_examples=75, deadline=None)
@given(forks())
def test_execution_labels_steps_as_planned(fork: Replay) -> None:
    assert labels(fork.execute()) == planned_labels(fork.plan())


@settings(max_examples=75, deadline=None)
@given(forks(), st.lists(st.one_of(texts, asks), min_size=1, max_size=6))
def test_every_step_counts_once_without_gaps(fork: Replay, answers: list[str | ToolCall]) -> None:
    waiting = list(answers)

    def model(call: Call) -> JSONObject:
        answer = waiting.pop(0) if waiting else "enough"
        if isinstance(answer, str):
            return {"content": answer}
        request: JSONObject = {"id": f"live{len(waiting)}", "name": answer.tool, "arguments": answer.arguments}
        return {"content": None, "tool_calls": [request]}

    assert_every_step_counts_once(fork, fork.execute(model))


@settings(max_examples=50, deadline=None)
@given(forks())
def test_unreachable_steps_are_exact(fork: Replay) -> None:
    graph: Graph = fork.graph
    changed = graph.reachable(fork.profile.by_step)
    containers = {node.no for node in graph.nodes if node.type in {StepType.AGENT, StepType.TURN}}
    labels_by_step = labels(fork.execute())
    has_skipped = any(label == "unreached" for label in labels_by_step.values())
    for node in graph.nodes:
        if node.no not in changed | containers and not has_skipped:
            assert labels_by_step[node.no] in {"exact source_output_reused", "simulated assumed_unaffected"}


@pytest.mark.parametrize(("name", "now"), [("desk", "desk"), ("m1", "m2")])
def test_step_named_by_model_is_renamed(name: str, now: str) -> None:
    run = order_desk()
    steps = (replace(step, name=name) if step.type is StepType.MODEL else step for step in run.steps)
    sampling: JSONValue = {"match": {"type": "model"}, "model": {"model": "m2"}}
    events = replay(sampling, run=replace(run, steps=tuple(steps))).execute()
    assert (resolved_step(events, 3).call.name, resolved_step(events, 3).call.model) == (now, "m2")


@pytest.mark.parametrize("fork", range(1, 11))
def test_fork_without_changes_is_exact(fork: int) -> None:
    events = replay(fork=fork).execute()
    assert events == [StepsReused(first=fork, last=10, offset=0)]
    assert len(CONVERSATION) == 2


def test_repeated_request_does_not_depend_on_the_answer_before_it() -> None:
    """Three votes on one question: the placeholder of the second one is not in the third request."""
    votes = (model_step(f"vote {number}", [user("Which queue is it?")], assistant("billing")) for number in range(3))
    run = replace(order_desk(), steps=tuple(votes))
    colder: list[JSONValue] = [{"match": {"step": no}, "model": {"temperature": 0}} for no in (1, 2)]
    fork = replay(*colder, run=run)
    assert planned_labels(fork.plan())[3] == labels(fork.execute())[3] == "exact source_output_reused"
