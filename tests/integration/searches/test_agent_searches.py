"""Searches whose replays let the agent itself run."""

from typing import Any

import pytest
from django.db.models.functions import Now
from django.test import Client

from replay.core.errors import ReplayFailure
from replay.execution import task_names
from replay.experiments import scheduler
from replay.models import Experiment, ReplaySession, Rerun, Runner
from replay.reruns import answers
from replay.reruns.answers import CallRefusal
from tests.support.agent_requests import first_request
from tests.support.queues import capture_tasks
from tests.support.replay_runs import order_desk
from traces.models import Run
from traces.runs.services import record

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.once]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE)
    return Run.objects.get(id=record(order_desk()).run_id)


def post(client: Client, path: str, body: Any) -> Any:
    return client.post(f"/api/v1{path}", body, content_type="application/json")


def add_runner(run: Run) -> None:
    Runner.objects.create(app=run.app, name="desk-1", connection="here", last_seen_at=Now(), command=["agent"])


def test_experiment_of_an_agent_starts_it_for_every_row(client: Client, run: Run) -> None:
    body = {"run": str(run.id), "engine": "agent", "samples": 2, "budget": {"max_live_calls": 1}}
    refusal = post(client, "/experiments", body)
    assert (refusal.status_code, refusal.json()["code"]) == (409, "no_runner")
    add_runner(run)
    answer = post(client, "/experiments", body)
    assert answer.status_code == 201, answer.json()
    sessions = ReplaySession.objects.order_by("created_at")
    assert [session.engine for session in sessions] == ["agent", "agent"]
    request = first_request(run)
    first, second = (rerun_of(session) for session in sessions)
    # A sample is a new answer, although the recording has this very call.
    assert answers.resolve(first.id, request).response is None
    with pytest.raises(CallRefusal, match="budget allows 1 live calls"):
        answers.resolve(second.id, request)
    experiment = Experiment.objects.get()
    assert experiment.live_calls == 1
    with pytest.raises(ReplayFailure):
        scheduler.take_call(experiment.id, 1)


def rerun_of(session: ReplaySession) -> Rerun:
    session.rerun = Rerun.objects.create(
        source_run=session.source_run,
        profile=session.profile,
        fork_sequence_no=session.fork_sequence_no,
        is_live=True,
    )
    session.save()
    return session.rerun


def test_probes_of_a_bisection_start_the_agent(client: Client, run: Run) -> None:
    check = {"kind": "contains", "text": "nothing says this"}
    body = {"engine": "agent", "checks": [check], "reproduce": 2}
    path = f"/runs/{run.id}/bisect"
    refusal = post(client, path, body)
    assert (refusal.status_code, refusal.json()["code"]) == (409, "no_runner"), refusal.json()
    add_runner(run)
    answer = post(client, path, body)
    assert answer.status_code == 201, answer.json()
    assert {session.engine for session in ReplaySession.objects.all()} == {"agent"}
