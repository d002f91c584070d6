"""Overrides of a running agent's calls, as they are stored: on both databases."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from cockpit.gateway.raw_responses import raw_response
from forkpoint.vocabulary import MCP_MESSAGES
from replay.core.vocabulary import Engine
from replay.models import Rerun
from replay.reruns import answers, queries, reports, services
from replay.reruns.derived_run import contents
from replay.reruns.derived_run import services as services_of_derived_runs
from replay.reruns.schemas import ToolAnswer, ToolQuestion
from replay.reruns.tools import calls, consents
from replay.sessions import prepare
from replay.sessions import services as sessions
from tests.support.agent_requests import first_request, last_request
from tests.support.lost_artifacts import LOSSES, lose
from tests.support.replay_runs import Reply, ToolCall, order_desk
from traces.core.json_access import as_list, as_object
from traces.core.json_types import JSONObject
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import RunStatus, StepType
from traces.models import Run
from traces.redaction.raw_responses import RAW_RESPONSE
from traces.runs.services import record
from traces.storage.integrity import Inspector

pytestmark = pytest.mark.django_db(transaction=True)
TURNS = (
    ToolCall("get_order", {"order_id": "A-1"}, "lost"),
    ToolCall("get_order", {"order_id": "A-2"}, "found"),
    Reply("It is lost."),
)
SPAN = ("started_at", "ended_at")
# A hook would answer them.
TOOLS_WITH_HOOK = ("get_order", "search_policy", "send_email")


@pytest.fixture
def run() -> Run:
    return Run.objects.get(id=record(order_desk([("Where is A-1?", TURNS)])).run_id)


def fork(run: Run, *entries: Any, tools_to_run: tuple[str, ...] = ()) -> Rerun:
    body: Any = {"run": str(run.id), "overrides": {"overrides": entries}, "policy": {"allow": ["model"]}}
    return services.start_fork(
        prepare.parse(body), tools_to_run=tools_to_run, tools_with_hook=TOOLS_WITH_HOOK, caller="test"
    )


def ask(rerun: Rerun, order: str, call: str) -> ToolAnswer:
    question = ToolQuestion(type=StepType.TOOL, name="get_order", arguments={"order_id": order}, call=call)
    return calls.answer(rerun, question)


def report(rerun: Rerun, order: str, call: str, number: int, *, has_ended: bool = True) -> None:
    """Report a call as the SDK does."""
    common: JSONObject = {"run_id": str(rerun.id), "step_id": call, "actor_type": "sdk", "schema_version": "1.0.0"}
    time = "2026-01-01T00:00:00Z"
    events: list[JSONObject] = [
        {"event_type": "tool_called", "payload": {"tool_name": "get_order", "args": {"order_id": order}}},
        {
            "event_type": "tool_result",
            "payload": {"tool_name": "get_order", "result": f"output of {call}", "attributes": {"rerun_call": call}},
        },
    ]
    lines = [
        json.dumps({**common, **event, "sequence_no": number + place, "timestamp_utc": time})
        for place, event in enumerate(events if has_ended else events[:1])
    ]
    reports.store(rerun.id, "\n".join(lines).encode(), attempt=rerun.attempt)


def steps(rerun: Rerun) -> list[tuple[str, str, int]]:
    """Return label, reason and number of the recorded step of each step, in the order of the reports."""
    derived = contents.read(rerun)
    assert derived is not None
    numbers = {step.id: step.sequence_no for step in rerun.source_run.steps.all()}
    return [
        (str(row.label), str(row.reason), 0 if row.source_step is None else numbers[row.source_step])
        for row in derived.rows
    ]


def test_later_request_has_the_edits_of_the_one_that_it_continues(run: Run) -> None:
    rerun = fork(run, {"match": {"step": 3}, "messages": [{"op": "insert", "index": 9, "content": "Be brief."}]})
    first = first_request(run)
    messages = as_list(first.body["messages"])
    addition = {"role": "user", "content": "Be brief."}
    resolution = answers.resolve(rerun.id, first)
    assert as_list(as_object(resolution.body)["messages"]) == [*messages, addition]
    later: list[Any] = [{"role": "assistant", "content": "Which?"}, {"role": "user", "content": "All."}]
    resolution = answers.resolve(rerun.id, first.with_edits({**first.body, "messages": [*messages, *later]}))
    assert as_list(as_object(resolution.body)["messages"]) == [*messages, addition, *later]
    other = first.with_edits({**first.body, "messages": later})
    assert answers.resolve(rerun.id, other).body is None


def test_call_is_labelled_by_what_became_of_it(run: Run) -> None:
    """Two calls have the same arguments. The one that ran is reported first."""
    rerun = fork(run, tools_to_run=("get_order",))
    assert [ask(rerun, "A-1", call).decision for call in ("c1", "c2")] == ["exact", "run"]
    for number, call in enumerate(("c2", "c1")):
        report(rerun, "A-1", call, 10 * number)
    assert [label for label, *_ in steps(rerun)] == ["simulated", "exact"]


def test_newest_revision_answers(run: Run) -> None:
    """It has what arrived late. For a fork it does if the steps have the same numbers in it."""
    late = ("And A-3?", (Reply("It is found."),))
    newest = Run.objects.get(id=record(order_desk([("Where is A-1?", TURNS), late])).run_id)
    assert newest.supersedes == run
    rerun = services.start(str(run.id), tools_to_run=(), tools_with_hook=TOOLS_WITH_HOOK, caller="test")
    # The last step has another number.
    assert (rerun.source_run_id, fork(run).source_run_id) == (newest.id, run.id)
    whole = replace(order_desk([("Where is A-1?", TURNS)]), external_id="late")
    first, second = (
        Run.objects.get(id=record(replace(whole, steps=whole.steps[:count])).run_id) for count in (5, len(whole.steps))
    )
    assert fork(first).source_run == second
    request = prepare.parse({"run": str(first.id), "engine": "agent"})
    warning = "A newer revision of this run answers the agent: it has what arrived after this one."
    assert warning in sessions.preview(request).warnings
    assert warning not in sessions.preview(request.model_copy(update={"engine": Engine.FOLLOW})).warnings


def test_refused_call_is_a_step_that_was_denied(run: Run) -> None:
    rerun = fork(run)
    assert ask(rerun, "A-3", "c1").decision == "refusal"
    # The agent ends before it could report what came of it.
    report(rerun, "A-3", "c1", 0, has_ended=False)
    derived = contents.read(rerun)
    assert derived is not None
    [row] = derived.rows
    assert (row.status, "this call of get_order is not in the recording" in row.error) == ("denied", True)
    assert [*consents.refused_tools(rerun)] == ["get_order"]


def test_call_whose_client_answers_otherwise_lacks_consent() -> None:
    accepted: JSONObject = {"result": {"action": "accept"}}
    messages: JSONObject = {MCP_MESSAGES: [{"method": "elicitation/create", "response": accepted}]}
    step = RecordedStep(
        key="1", type=StepType.TOOL, name="get_order", input={"order_id": "A-1"}, output="lost", attributes=messages
    )
    desk = RecordedRun(external_id="asks", name="asks", app="asks", format="test", steps=(step,))
    rerun = fork(Run.objects.get(id=record(desk).run_id))
    assert ask(rerun, "A-1", "c1").decision == "exact"
    client_answers: Any = [{"result": {"action": "cancel"}}]
    question = ToolQuestion(
        type=StepType.TOOL, name="get_order", arguments={"order_id": "A-1"}, call="c1", client_answers=client_answers
    )
    assert calls.answer(rerun, question).decision == "refusal"
    assert "another answer of its client" in consents.refused_tools(rerun)["get_order"]


def test_model_call_for_a_server_inside_an_answered_call_is_not_missed() -> None:
    def at(second: int) -> Any:
        times = {name: datetime(2026, 1, 1, second=second + place, tzinfo=UTC) for place, name in enumerate(SPAN)}
        return times if second else {**times, "ended_at": datetime(2026, 1, 1, second=9, tzinfo=UTC)}

    sample: JSONObject = {MCP_MESSAGES: [{"method": "sampling/createMessage", "response": {"result": {}}}]}
    call = RecordedStep(
        key="1", type=StepType.TOOL, name="get_order", input={"order_id": "A-1"}, output="x", attributes=sample, **at(0)
    )
    models = [
        RecordedStep(key=f"{second}", type=StepType.MODEL, name="m", input={"messages": []}, output={}, **at(second))
        for second in (2, 10)
    ]
    desk = RecordedRun(external_id="samples", name="s", app="samples", format="test", steps=(call, *models))
    rerun = fork(Run.objects.get(id=record(desk).run_id))
    assert queries.view(rerun).unused_steps == [2, 3]
    assert ask(rerun, "A-1", "c1").decision == "exact"
    assert queries.view(rerun).unused_steps == [3]


def test_call_that_a_tool_presumably_made_is_not_missed_when_the_tool_is_answered() -> None:
    """Its client names no step. One that does, and names none here, made the call elsewhere."""

    def at(*seconds: int) -> Any:
        return {
            name: datetime(2026, 1, 1, second=second, tzinfo=UTC) for name, second in zip(SPAN, seconds, strict=True)
        }

    def answer(lane: str) -> JSONObject:
        return raw_response(api="", status=200, headers=(), body=b"", marks=(), is_cut=False, lane=lane)

    tool = RecordedStep(
        key="1", type=StepType.TOOL, name="get_order", input={"order_id": "A-1"}, output="x", **at(0, 9)
    )
    models = [
        RecordedStep(
            key=lane or "unknown",
            type=StepType.MODEL,
            name="m",
            input={"messages": []},
            output={},
            attributes={RAW_RESPONSE: answer(lane)},
            **at(2, 3),
        )
        for lane in ("", "7-1")
    ]
    desk = RecordedRun(external_id="loose", name="s", app="loose", format="test", steps=(tool, *models))
    rerun = fork(Run.objects.get(id=record(desk).run_id))

    def missing_steps() -> tuple[list[int], list[int]]:
        view = queries.view(rerun)
        return view.unused_steps, view.covered_steps

    assert missing_steps() == ([2, 3], [])
    assert ask(rerun, "A-1", "c1").decision == "exact"
    assert missing_steps() == ([3], [2])


@pytest.mark.parametrize(
    ("old", "new"),
    [("It leaves on 2026-11-01.", "It leaves on 2026-12-24."), ("for cus_8f3a2b91d04e", "for cus_77aa2b91d0ff")],
)
def test_value_that_an_override_sets_is_no_volatile_one(old: str, new: str) -> None:
    """The agent has it from its tool, so that the next request differs from the recorded one in nothing else."""
    turns = (ToolCall("get_order", {"order_id": "A-1"}, old), Reply("It is lost."))
    run = Run.objects.get(id=record(order_desk([("Where is A-1?", turns)])).run_id)
    rerun = fork(run, {"match": {"type": "tool"}, "tool": {"output": new}})
    Rerun.objects.filter(id=rerun.id).update(is_live=True)
    assert ask(rerun, "A-1", "c1").decision == "overridden"
    second = last_request(run)
    body = json.loads(json.dumps(second.body).replace(old, new))
    assert body != second.body
    assert answers.resolve(rerun.id, second.with_edits(body)).response is None
    plain = services.start(str(run.id), tools_to_run=(), tools_with_hook=TOOLS_WITH_HOOK, caller="test")
    assert answers.resolve(plain.id, second.with_edits(body)).response is not None


def test_call_with_other_arguments_is_the_step_in_whose_place_it_is(run: Run) -> None:
    rerun = fork(run, {"match": {"step": 4}, "arguments": {"order_id": "A-2"}}, tools_to_run=("get_order",))
    answer = ask(rerun, "A-1", "c1")
    assert (answer.decision, answer.output) == ("cached", "found")
    assert ask(rerun, "A-2", "c2").decision == "exact"
    for number, (order, call) in enumerate((("A-1", "c1"), ("A-2", "c2"))):
        report(rerun, order, call, 10 * number)
    assert steps(rerun) == [("cached", "cache_hit_signature_match", 4), ("exact", "source_output_reused", 6)]


@pytest.mark.parametrize(("is_named", "decision"), [(True, "refusal"), (False, "cached")])
def test_call_with_a_changed_call_inside_is_not_exact(is_named: bool, decision: str) -> None:
    """If the client did not name the call around it, its time shows where it may have been."""
    recording = order_desk([("Where is A-1?", TURNS)])
    tool = next(step for step in recording.steps if step.type is StepType.TOOL)
    model = next(step for step in recording.steps if step.type is StepType.MODEL)
    times = [datetime(2026, 1, 1, second=second, tzinfo=UTC) for second in range(6)]
    inner = replace(model, key="inner", parent=tool.key if is_named else None, links=())
    parts = (
        replace(tool, parent=None, links=(), started_at=times[0], ended_at=times[3]),
        replace(inner, started_at=times[1], ended_at=times[2]),
        replace(model, key="later", parent=None, links=(), started_at=times[4], ended_at=times[5]),
    )
    run = Run.objects.get(id=record(replace(recording, steps=parts)).run_id)
    question = ToolQuestion(type=StepType.TOOL, name="get_order", arguments={"order_id": "A-1"}, call="c1")
    for entry, expected in (({"step": 3}, "exact"), ({"type": "model"}, decision)):
        rerun = fork(run, {"match": entry, "prompt": {"system": "Be brief."}})
        answer = calls.answer(rerun, question)
        assert answer.decision == expected
    report(rerun, "A-1", "c1", 0)
    assert ("step 2, which the fork changes" in answer.reason) is is_named
    [(label, reason, _)] = steps(rerun)
    assert (label, reason == "assumed_unaffected") == ("simulated", not is_named)


@pytest.mark.parametrize("damage", LOSSES)
def test_unreadable_recording_inside_an_answered_call_is_not_exact(damage: str) -> None:
    recording = order_desk([("Where is A-1?", TURNS)])
    tool = next(step for step in recording.steps if step.type is StepType.TOOL)
    model = next(step for step in recording.steps if step.type is StepType.MODEL)
    parts = (replace(tool, parent=None, links=()), replace(model, key="inner", parent=tool.key, links=()))
    run = Run.objects.get(id=record(replace(recording, steps=parts)).run_id)
    rerun = fork(run)
    assert ask(rerun, "A-1", "c1").decision == "exact"
    report(rerun, "A-1", "c1", 0)
    answered_call = ("exact", "source_output_reused", 1)
    assert steps(rerun) == [answered_call, ("exact", "source_output_reused", 2)]
    lose(run.steps.get(sequence_no=2).input_ref, damage)
    assert steps(rerun) == [answered_call, ("simulated", "source_output_unverified", 2)]


@pytest.mark.parametrize("damage", LOSSES)
def test_payload_that_the_agent_produces_again_is_restored(run: Run, damage: str) -> None:
    """Its digest shows that it is the recorded one."""
    rerun = fork(run)
    assert ask(rerun, "A-1", "c1").decision == "exact"
    report(rerun, "A-1", "c1", 0)
    lose(run.steps.get(sequence_no=4).input_ref, damage)
    assert steps(rerun) == [("exact", "source_output_reused", 4)]
    assert Inspector().steps(run.id, 4, 4)
    derived_run = services_of_derived_runs.write(rerun, RunStatus.COMPLETED)
    assert derived_run is not None
    assert Inspector().steps(run.id, 4, 4) == Inspector().steps(derived_run.id, 1, 1) == {}
