"""Calibrations for which a runner starts the agent twice: their status, and what answers the agent."""

from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db.models.functions import Now
from django.test import Client

from forkpoint.vocabulary import INTERCEPTION_MARK
from replay.calibration import agent_starts
from replay.core.vocabulary import SessionStatus
from replay.execution import observers, task_names
from replay.models import AgentCalibration, ReplaySession, Runner
from replay.store.citations import ReplayCiter
from tests.integration.sessions.test_consent import TOOLS, with_marks
from tests.support.queues import capture_tasks
from tests.support.replay_runs import order_desk
from traces.models import Run
from traces.runs.services import record

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]


@pytest.fixture(autouse=True)
def _no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE)


@pytest.fixture
def run() -> Run:
    return store()


def store() -> Run:
    """Store a run whose tools are intercepted."""
    marked_run = with_marks(order_desk(external_id=uuid4().hex), dict.fromkeys(TOOLS, INTERCEPTION_MARK))
    return Run.objects.get(id=record(marked_run).run_id)


def calibrate(client: Client, run: Run, **headers: str) -> Any:
    return client.post(f"/api/v1/runs/{run.id}/calibrate", headers=headers)


def start(client: Client, run: Run, **headers: str) -> Any:
    Runner.objects.get_or_create(
        app=run.app, name="d", defaults={"connection": "d", "last_seen_at": Now(), "command": ["a"]}
    )
    response = calibrate(client, run, **headers)
    assert response.status_code == 201, response.json()
    return response.json()


def progress(client: Client, calibration: Any) -> Any:
    return client.get(f"/api/v1/calibrations/by-agent/{calibration['id']}").json()


def end(session: str, run: Run | None, status: SessionStatus = SessionStatus.FAILED_EXECUTION) -> None:
    ReplaySession.objects.filter(id=session).update(status=status, run=run, ended_at=Now(), error="it is broken")


def test_agent_starts_twice_and_only_its_recording_answers(client: Client, run: Run) -> None:
    assert calibrate(client, run).json()["code"] == "no_runner"
    calibration = start(client, run)
    assert (calibration["status"], calibration["run"], calibration["unintercepted_tools"]) == (
        "running",
        str(run.id),
        [],
    )
    sessions = [UUID(item["session"]) for item in calibration["starts"]]
    assert len({*sessions}) == 2
    for session in sessions:
        sources = observers.shared_recordings(session)
        assert sources is not None
        assert (list(sources.sessions), list(sources.load_runs())) == ([], [])
        assert ReplaySession.objects.get(id=session).policy["allow"] == []


def test_repeated_request_starts_nothing_more(client: Client, run: Run) -> None:
    headers = {"Idempotency-Key": "k1"}
    assert start(client, run, **headers)["id"] == start(client, run, **headers)["id"]
    assert ReplaySession.objects.count() == 2


def test_both_runs_are_compared_also_if_their_agent_failed(client: Client, run: Run) -> None:
    calibration = start(client, run)
    first, second = (item["session"] for item in calibration["starts"])
    end(first, store())
    agent_starts.compare_after(UUID(first))
    assert progress(client, calibration)["status"] == "running"
    end(second, store())
    agent_starts.compare_missed()
    view = progress(client, calibration)
    assert (view["status"], view["error"]) == ("completed", "")
    comparison = client.get(f"/api/v1/calibrations/{view['calibration']}").json()
    assert [comparison["base"], comparison["candidate"]] == [item["run"] for item in view["starts"]]
    agent_starts.compare_after(UUID(second))
    assert progress(client, calibration)["calibration"] == view["calibration"]


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (SessionStatus.CANCELLED, "a start of the agent was cancelled"),
        (SessionStatus.FAILED_EXECUTION, "it is broken"),
    ],
)
def test_start_without_a_run_ends_the_calibration(client: Client, run: Run, status: SessionStatus, error: str) -> None:
    calibration = start(client, run)
    end(calibration["starts"][0]["session"], None, status)
    view = progress(client, calibration)
    assert (view["status"], view["error"], view["calibration"]) == ("failed", error, None)


def test_calibration_goes_with_its_recording(client: Client, run: Run) -> None:
    start(client, run)
    ReplayCiter().release([run.id])
    assert not AgentCalibration.objects.exists()
