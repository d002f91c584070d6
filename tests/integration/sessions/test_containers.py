"""Stored agents and turns of derived runs: output, label, status and the session's counts."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from replay.core.graph import CONTAINERS
from replay.execution import runner, task_names
from replay.fork_tree.queries import tree
from replay.sessions import prepare, queries, services
from replay.sessions.schemas import SessionView
from tests.support.queues import capture_tasks
from tests.support.replay_runs import ORDERS, Reply, ToolCall, order_desk
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import RunStatus, StepStatus, StepType
from traces.models import Run, RunOutcome, Step
from traces.runs.services import record
from traces.storage import artifacts

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]
GOODBYE = {"match": {"step": 9}, "output": "Goodbye."}


@pytest.fixture(autouse=True)
def by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the queue: the tests run sessions themselves."""
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE)


def replay(run: RecordedRun, fork: int, *overrides: dict[str, Any], **policy: Any) -> tuple[SessionView, list[Step]]:
    source = record(run).run_id
    body: Any = {"run": str(source), "fork_step": fork, "overrides": {"overrides": [*overrides]}, "policy": policy}
    session = services.launch(prepare.parse(body))
    runner.execute(session.id)
    view = queries.session_view(session.id)
    return view, list(Step.objects.filter(run=view.run).order_by("sequence_no"))


def label_counts(view: SessionView) -> Counter[str]:
    counts = view.counts
    return +Counter({"exact": counts.exact, "cached": counts.cached, "simulated": counts.simulated})


def checked_agent(verdict: StepStatus) -> RecordedRun:
    """A run with an agent that fails because its answer check fails."""
    agent = RecordedStep(
        key="agent",
        type=StepType.AGENT,
        name="clerk",
        input={"task": "refund"},
        output={"text": "Refund 4200 euros."},
        status=verdict,
        error="over the limit",
    )
    answer = RecordedStep(
        key="answer",
        type=StepType.MODEL,
        name="clerk",
        parent="agent",
        provider="desk",
        model="m1",
        input={"messages": [{"role": "user", "content": "refund"}]},
        output={"message": {"role": "assistant", "content": "Refund 4200 euros."}},
    )
    check = RecordedStep(
        key="check",
        type=StepType.VALIDATOR,
        name="limit",
        parent="agent",
        input={"text": "Refund 4200 euros."},
        output={"valid": False, "about": "Refund 4200 euros."},
        status=verdict,
        error="over the limit",
    )
    return RecordedRun(
        external_id="check",
        name="clerk",
        app="clerk",
        format="test",
        steps=(agent, answer, check),
        status=RunStatus.FAILED,
    )


def test_agent_with_skipped_check_is_unverified() -> None:
    view, (agent, _, check) = replay(checked_agent(StepStatus.ERROR), 2, {"match": {"step": 2}, "output": "Refund 42."})
    assert (check.status, check.reason) == ("unverified", "simulation_policy_fallback")
    assert (agent.status, agent.error, agent.label, agent.reason) == ("unverified", "", "simulated", "derived")
    assert artifacts.payload(agent.output_ref) == {"text": "Refund 42."}
    assert label_counts(view) == Counter(simulated=3)


@pytest.mark.parametrize("parent", ["agent", None])
def test_failure_of_an_assumed_check_is_unverified(parent: str | None) -> None:
    """The check did not run, so neither its agent nor the run failed by it."""
    run = checked_agent(StepStatus.ERROR)
    # Code derived the check's input from the answer in a way that the recording does not show.
    check = replace(run.steps[2], input={"limit": "exceeded by a lot"}, parent=parent)
    change = {"match": {"step": 2}, "output": {"message": {"role": "assistant", "content": "Refund 42."}}}
    view, (agent, _, check_step) = replay(replace(run, steps=(*run.steps[:2], check)), 2, change)
    assert (check_step.status, check_step.reason) == ("error", "assumed_unaffected")
    assert (agent.status, agent.error) == ("unverified", "")
    (derived_run,) = Run.objects.filter(session_id=view.id)
    outcome = RunOutcome.objects.get(run=derived_run)
    assert (derived_run.status, outcome.outcome, outcome.reason) == ("completed", "unverified", "limit did not run")


@pytest.mark.parametrize(
    ("error", "type", "status"),
    [
        ("over the limit", StepType.VALIDATOR, "error"),
        # Code failed the agent: because of the step, or not.
        ("over the limit", StepType.TOOL, "error"),
        ("no such order", StepType.TOOL, "unverified"),
        ("", StepType.TOOL, "unverified"),
    ],
)
def test_agent_fails_by_a_step_before_its_last_one(error: str, type: StepType, status: str) -> None:
    run = checked_agent(StepStatus.ERROR)
    agent, answer, check = run.steps
    failed = replace(
        check, type=type, tool_name="limit", input=5, error=error, status=StepStatus.ERROR if error else StepStatus.OK
    )
    last = replace(
        check,
        key="log",
        type=StepType.TOOL,
        name="log",
        tool_name="log",
        input="x",
        output="logged",
        status=StepStatus.OK,
        error="",
    )
    change = {"match": {"step": 4}, "tool": {"output": "not logged"}}
    _, (agent_step, *_) = replay(replace(run, steps=(agent, answer, failed, last)), 4, change)
    assert agent_step.status == status


def test_assumed_end_does_not_fail_the_run() -> None:
    """Only the agent's code made the recorded run fail, and nothing shows that it would again."""
    run = checked_agent(StepStatus.OK)
    late = replace(run.steps[2], type=StepType.TOOL, name="log", tool_name="log", parent=None, output="logged")
    late = replace(late, input={"limit": "exceeded by a lot"}, error="")
    change = {"match": {"step": 2}, "output": {"message": {"role": "assistant", "content": "Refund 42."}}}
    view, (*_, last) = replay(replace(run, steps=(*run.steps[:2], late)), 2, change)
    assert (last.status, last.reason) == ("ok", "assumed_unaffected")
    assert [run.status for run in Run.objects.filter(session_id=view.id)] == ["completed"]


def failing_run() -> RecordedRun:
    """A run whose agent and turn failed with their last tool call."""
    run = order_desk([("Where is A-1?", (ToolCall("get_order", {"order_id": "A-1"}, "timed out", StepStatus.ERROR),))])
    failed = [replace(step, status=StepStatus.ERROR) for step in run.steps[:2]]
    return replace(run, steps=(*failed, *run.steps[2:]), status=RunStatus.FAILED)


def test_open_containers_end_like_the_replay() -> None:
    view, (agent, turn, *_) = replay(failing_run(), 4, {"match": {"step": 4}, "tool": {"output": ORDERS["A-1"]}})
    assert (agent.status, turn.status, agent.label, turn.label) == ("ok", "ok", "simulated", "simulated")
    (derived_run,) = Run.objects.filter(session_id=view.id)
    assert (derived_run.status, derived_run.error_count) == ("completed", 0)
    # They began before the fork.
    before = tree(derived_run).runs[1].labels_before_fork
    assert (before.exact, before.simulated) == (1, 2)


def test_containers_fail_with_the_replay() -> None:
    failing_call = {"match": {"step": 4}, "tool": {"output": "no such order", "status": "error"}}
    view, (agent, turn, *_) = replay(failing_run(), 4, failing_call)
    assert (turn.status, agent.label) == ("error", "simulated")
    assert [run.error_count > 0 for run in Run.objects.filter(session_id=view.id)] == [True]


def test_interrupted_agents_are_not_exact() -> None:
    run = order_desk([("Where is A-1?", (ToolCall("get_order", {"order_id": "A-1"}, "lost"), Reply("It is lost.")))])
    entry = {"match": {"step": 4}, "tool": {"output": "found"}}
    view, steps = replay(run, 4, entry, fallback="fail")
    assert view.status == "failed_execution"
    assert [(step.label, step.reason, step.output_ref) for step in steps[:2]] == [("simulated", "derived", "")] * 2
    assert label_counts(view) == Counter(step.label for step in steps)


def test_strict_replay_stops_at_assumed_agent() -> None:
    recording = order_desk()
    turn = replace(recording.steps[7], output={"verdict": "content"})
    run = replace(recording, steps=(*recording.steps[:7], turn, *recording.steps[8:]))
    record(order_desk(external_id="other", model="m2"))  # where the new call finds its answer
    view, _ = replay(run, 9, {"match": {"step": 9}, "model": {"model": "m2"}}, strict=True)
    assert (view.status, view.error_code, view.error_sequence_no) == ("failed_validation", "strict", 8)


@pytest.mark.parametrize(("fork", "overrides"), [(1, []), (9, [GOODBYE]), (2, [GOODBYE])])
def test_containers_without_output_are_as_weak_as_the_lost_steps_inside(
    fork: int, overrides: list[dict[str, Any]]
) -> None:
    """Tracers that record no contents record agents without an output, too."""
    whole = order_desk()
    lost_no = next(no for no, step in enumerate(whole.steps, start=1) if step.tool_name == "get_order")
    no_output = [step.type in CONTAINERS or no == lost_no for no, step in enumerate(whole.steps, start=1)]
    steps = [replace(step, output=None) if hide else step for step, hide in zip(whole.steps, no_output, strict=True)]
    view, derived_steps = replay(replace(whole, steps=tuple(steps)), fork, *overrides, allow=[])
    agent, turn, call = derived_steps[0], derived_steps[1], derived_steps[lost_no - 1]
    assert [step.label for step in (agent, turn, call)] == ["simulated"] * 3
    assert (turn.reason, turn.output_ref) == ("derived", "")
    note = f"It has no recorded output, and the output of step {lost_no} inside it was not recorded"
    assert turn.detail["note"] == note
    body: Any = {"run": str(view.source_run), "fork_step": fork, "overrides": {"overrides": overrides}}
    for list_untouched in (True, False):
        plan = services.preview(prepare.parse({**body, "policy": {"allow": []}}), list_untouched=list_untouched)
        assert plan.counts == view.counts
    assert view.divergences == []
