"""Replays with live calls survive the loss of worker, queue and database, in real processes."""

import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from replay.live import shutdown
from tests.faults import desk as desk_module
from tests.faults import scenarios
from tests.faults.deployment import TAKEOVER_S, Deployment, ask, celery, wait_until
from tests.faults.desk import Desk, desk_server
from tests.faults.follower import Follower
from tests.faults.verdict import delivery_problems
from tests.services.processes import scratch_folder
from tests.services.server import Server
from tests.support.patience import patience_s

distributed_only = pytest.mark.own_services
embedded_only = pytest.mark.own_store


@pytest.fixture(scope="module")
def desk() -> Iterator[Desk]:
    with desk_server() as running:
        yield running


@pytest.fixture(scope="module")
def home() -> Path:
    return scratch_folder("fp-faults-") / "home"


@pytest.fixture(scope="module")
def services() -> scenarios.Services:
    return scenarios.own_services()


@pytest.fixture(scope="module")
def deployment(desk: Desk, home: Path, services: scenarios.Services) -> Iterator[Deployment]:
    with scenarios.run_distributed(home, desk, services.environment, 24) as running:
        yield running


def holds(outcome: scenarios.Outcome, log: Path) -> None:
    assert not outcome.broken, (outcome, log.read_text()[-3000:] if log.exists() else "")


@distributed_only
def test_killed_workers_lose_and_repeat_nothing(deployment: Deployment, desk: Desk, home: Path) -> None:
    holds(scenarios.kill_workers(deployment, desk, kills=5, sessions=5), home.with_suffix(".web"))


@distributed_only
def test_suspended_worker_writes_nothing_after_takeover(deployment: Deployment, desk: Desk, home: Path) -> None:
    holds(scenarios.suspend_worker(deployment, desk, sessions=3), home.with_suffix(".web"))


def rows(deployment: Deployment, experiment: str) -> list[dict[str, Any]]:
    for waiting in deployment.get("/replays?limit=200")["sessions"]:
        if waiting["status"] == "awaiting_operator":
            deployment.answer(waiting)
    results: list[dict[str, Any]] = deployment.get(f"/experiments/{experiment}")["results"]
    return results


@distributed_only
def test_experiment_survives_killed_workers_until_cancelled(deployment: Deployment, desk: Desk) -> None:
    experiment = deployment.post("/experiments", desk_module.experiment(deployment.fresh_run()))["id"]
    for _ in range(2):
        worker = deployment.nursery.start()
        scenarios.wait_for_calls(desk, 6)
        deployment.nursery.kill(worker)
    deployment.nursery.start()
    wait_until(lambda: all(row["checks"] and row["diff"] for row in rows(deployment, experiment)), seconds=40)
    results = rows(deployment, experiment)
    assert [row["status"].startswith("completed") and row["checks"][0]["passed"] for row in results] == [True] * 4
    deployment.post("/diffs", {"base": results[0]["run"], "candidate": results[3]["run"]})
    desk.may_answer.clear()
    cancelled_experiment = deployment.post("/experiments", desk_module.experiment(deployment.fresh_run()))["id"]
    wait_until(lambda: desk.waiting > 0)
    deployment.post(f"/experiments/{cancelled_experiment}/cancel")
    wait_until(lambda: {row["status"] for row in rows(deployment, cancelled_experiment)} == {"cancelled"}, seconds=5)
    desk.may_answer.set()
    deployment.nursery.clear()


@pytest.fixture(scope="module")
def workers(deployment: Deployment, home: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Workers as in production: a process that forks others."""
    with celery(deployment.env, home) as running:
        yield running


@distributed_only
def test_replays_survive_redis_and_postgresql_failures(
    deployment: Deployment, desk: Desk, home: Path, services: scenarios.Services, workers: "subprocess.Popen[bytes]"
) -> None:
    followers: list[Follower] = []

    def follow() -> None:
        followers.append(Follower(deployment.http, deployment.session_ids[-1], drops=5))

    def kill_redis() -> None:
        services.redis.kill()
        deployment.launch(1)  # the server takes it, and it is queued when there is a queue again
        services.redis.start()

    faults = [follow, kill_redis, services.restart_postgres, services.kill_postgres]
    holds(scenarios.break_service(deployment, desk, faults, sessions=5), home.with_suffix(".celery"))
    messages = followers[0].end()
    (report,) = [item for item in ask("report", deployment.env) if item["id"] == followers[0].session]
    assert delivery_problems(report, messages) == []
    assert followers[0].connections > 1


@distributed_only
def test_worker_hands_sessions_over_on_shutdown(
    deployment: Deployment, desk: Desk, workers: "subprocess.Popen[bytes]", monkeypatch: pytest.MonkeyPatch
) -> None:
    began = desk.count()
    # Slow enough that no session ends before the workers do.
    monkeypatch.setattr(desk, "pause_s", 0.5)
    deployment.launch(3)
    wait_until(lambda: desk.count() > began + 2)
    workers.terminate()
    wait_until(lambda: "running" not in deployment.statuses(), seconds=TAKEOVER_S + shutdown.GRACE_S)
    monkeypatch.undo()
    assert deployment.open_sessions(), "it has finished them instead"
    assert workers.wait(patience_s(20)) == 0
    deployment.nursery.start()
    deployment.wait(30)
    assert deployment.broken(desk.request_counts) == []


@embedded_only
def test_killed_server_loses_and_repeats_nothing(desk: Desk, home: Path) -> None:
    with scenarios.run_embedded(home, desk, 5) as (server, deployment):
        holds(scenarios.kill_server(server, deployment, desk, kills=2, sessions=4), server.log)
        counts = _killed_in_the_middle(server, deployment, desk)
    assert Counter(counts.values()) == {1: 8, 2: 1}


def _killed_in_the_middle(server: Server, deployment: Deployment, desk: Desk) -> dict[str, int]:
    """Count the requests of a session whose server is killed while it waits for the fourth."""
    before = desk.request_counts.copy()
    desk.silent_count = desk.count() + 3
    deployment.launch(1)
    wait_until(lambda: desk.count() == desk.silent_count and desk.waiting > 0)
    server.kill()
    desk.may_answer.set()
    server.start()
    deployment.wait(30)
    assert deployment.broken(desk.request_counts) == []
    return dict(desk.request_counts - before)
