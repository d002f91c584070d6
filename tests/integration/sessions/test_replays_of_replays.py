"""Replays whose source is itself a replay: outputs that no agent produced keep their label."""

from typing import Any

import pytest

from replay.execution import runner, task_names
from replay.fork_tree import queries as tree_queries
from replay.sessions import prepare, queries, services
from replay.sessions.schemas import SessionView
from tests.support.queues import capture_tasks
from tests.support.replay_runs import order_desk
from traces.models import Run, Step
from traces.runs.services import record

# Not divided: copies are made by a statement that differs between the databases.
pytestmark = pytest.mark.django_db(transaction=True)
REASON = "simulation_operator_override"


@pytest.fixture(autouse=True)
def by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the queue: the tests run sessions themselves."""
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE)


def replay(run: object, fork: int = 1, entries: Any = (), **policy: Any) -> SessionView:
    """Replay a run from a step on; the plan counts the labels that the replay then has."""
    body: Any = {"run": str(run), "fork_step": fork, "overrides": {"overrides": [*entries]}, "policy": policy}
    plans = [services.preview(prepare.parse(body), list_untouched=lists) for lists in (True, False)]
    session = services.launch(prepare.parse(body))
    if session.status == "pending":
        runner.execute(session.id)
        assert [plan.counts for plan in plans] == [queries.session_view(session.id).counts] * 2
    return queries.session_view(session.id)


def override(step: int, output: str) -> Any:
    return {"match": {"step": step}, "output": output}


def step_of(view: SessionView, number: int) -> Step:
    assert view.run is not None
    return Step.objects.get(run_id=view.run, sequence_no=number)


def labels(view: SessionView) -> dict[int, tuple[str, str]]:
    """Labels of the steps that are not exact, with the reasons for which their outputs are not."""
    assert view.run is not None
    steps = Step.objects.filter(run_id=view.run).exclude(label="exact")
    return {step.sequence_no: (step.label, step.detail.get("recorded_as", step.reason)) for step in steps}


def test_reused_outputs_of_a_replay_keep_their_labels() -> None:
    first = replay(record(order_desk()).run_id, 9, [override(9, "Goodbye.")])
    own_labels = labels(first)
    assert own_labels[9] == ("simulated", REASON)

    copy = replay(first.run)
    assert (labels(copy), copy.status, copy.counts) == (own_labels, "completed_mixed", first.counts)
    reused = step_of(copy, 9)
    assert (reused.label, reused.reason) == ("simulated", "source_output_reused")
    assert reused.detail["note"] == "The recording is itself a replay, in which this step was answered by the operator"
    assert Run.objects.get(id=reused.run_id).simulated_count == copy.counts.simulated == len(own_labels)

    for entries in ([], [override(10, "A-1 was lost.")]):
        last = replay(copy.run, 10, entries)
        assert {**labels(last), 10: own_labels[10]} == own_labels
        assert last.divergences == []
        assert last.run is not None
        row = next(run for run in tree_queries.tree(Run.objects.get(id=last.run)).runs if run.id == last.run)
        steps = Step.objects.filter(run_id=last.run, sequence_no__lt=10)
        assert row.labels_before_fork.exact == steps.filter(label="exact").count()
        assert row.labels_before_fork.simulated == steps.filter(label="simulated").count() > 0


@pytest.mark.parametrize("fork", [1, 10])
def test_strict_replay_of_a_simulated_recording_is_refused(fork: int) -> None:
    first = replay(record(order_desk()).run_id, 9, [override(9, "Goodbye.")])
    view = replay(first.run, fork, strict=True)
    assert view.status == "failed_validation"
    assert "the recording is itself a replay, in which step" in view.error
