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
from tests.faults.deployment import TAKEOVER_S, Deployment, ask, celery, until
from tests.faults.desk import Desk, desk_server
from tests.faults.follower import Follower
from tests.faults.verdict import misheard
from tests.services.processes import scratch_folder
from tests.services.server import Server

distributed = pytest.mark.own_services
embedded = pytest.mark.own_store


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
def deployed(desk: Desk, home: Path, services: scenarios.Services) -> Iterator[Deployment]:
    with scenarios.distributed(home, desk, services.environment, 24) as running:
        yield running


def holds(outcome: scenarios.Outcome, log: Path) -> None:
    assert not outcome.broken, (outcome, log.read_text()[-3000:] if log.exists() else "")


@distributed
def test_killed_workers_lose_and_repeat_nothing(deployed: Deployment, desk: Desk, home: Path) -> None:
    holds(scenarios.kill_workers(deployed, desk, kills=8, sessions=7), home.with_suffix(".web"))


@distributed
def test_suspended_worker_writes_nothing_after_takeover(deployed: Deployment, desk: Desk, home: Path) -> None:
    holds(scenarios.suspend_worker(deployed, desk, sessions=3), home.with_suffix(".web"))


def rows(deployed: Deployment, experiment: str) -> list[dict[str, Any]]:
    for waiting in deployed.get("/replays?limit=200")["sessions"]:
        if waiting["status"] == "awaiting_operator":
            deployed.answer(waiting)
    found: list[dict[str, Any]] = deployed.get(f"/experiments/{experiment}")["results"]
    return found


@distributed
def test_experiment_survives_killed_workers_until_cancelled(deployed: Deployment, desk: Desk) -> None:
    experiment = deployed.post("/experiments", desk_module.experiment(deployed.fresh_run()))["id"]
    for _ in range(2):
        worker = deployed.nursery.start()
        scenarios.wait_for_calls(desk, 6)
        deployed.nursery.kill(worker)
    deployed.nursery.start()
    until(lambda: all(row["checks"] and row["diff"] for row in rows(deployed, experiment)), seconds=40, step=0.1)
    found = rows(deployed, experiment)
    assert [row["status"].startswith("completed") and row["checks"][0]["passed"] for row in found] == [True] * 4
    deployed.post("/diffs", {"base": found[0]["run"], "candidate": found[3]["run"]})
    desk.held.clear()
    stopped = deployed.post("/experiments", desk_module.experiment(deployed.fresh_run()))["id"]
    until(lambda: desk.waiting > 0)
    deployed.post(f"/experiments/{stopped}/cancel")
    until(lambda: {row["status"] for row in rows(deployed, stopped)} == {"cancelled"}, seconds=5, step=0.1)
    desk.held.set()
    deployed.nursery.clear()


@pytest.fixture(scope="module")
def workers(deployed: Deployment, home: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Workers as in production: a process that forks others."""
    with celery(deployed.env, home) as running:
        yield running


@distributed
def test_replays_survive_redis_and_postgresql_failures(
    deployed: Deployment, desk: Desk, home: Path, services: scenarios.Services, workers: "subprocess.Popen[bytes]"
) -> None:
    followers: list[Follower] = []

    def follow() -> None:
        followers.append(Follower(deployed.http, deployed.launched[-1], drops=5))

    def kill_redis() -> None:
        services.redis.kill()
        deployed.launch(1)  # the server takes it, and it is queued when there is a queue again
        services.redis.start()

    faults = [follow, kill_redis, services.restart_postgres, services.kill_postgres]
    holds(scenarios.break_service(deployed, desk, faults, sessions=5), home.with_suffix(".celery"))
    heard = followers[0].end()
    (report,) = [one for one in ask("report", deployed.env) if one["id"] == followers[0].session]
    assert misheard(report, heard) == []
    assert followers[0].connections > 1


@distributed
def test_worker_hands_sessions_over_on_shutdown(
    deployed: Deployment, desk: Desk, workers: "subprocess.Popen[bytes]"
) -> None:
    began = desk.count()
    deployed.launch(3)
    until(lambda: desk.count() > began + 2)
    workers.terminate()
    until(lambda: "running" not in deployed.statuses(), seconds=TAKEOVER_S + shutdown.GRACE_S)
    assert deployed.unfinished(), "it has finished them instead"
    assert workers.wait(20) == 0
    deployed.nursery.start()
    deployed.wait(30)
    assert deployed.broken(desk.asked) == []


@embedded
def test_killed_server_loses_and_repeats_nothing(desk: Desk, home: Path) -> None:
    with scenarios.embedded(home, desk, 5) as (server, deployed):
        holds(scenarios.kill_server(server, deployed, desk, kills=2, sessions=4), server.log)
        held = _killed_in_the_middle(server, deployed, desk)
    assert Counter(held.values()) == {1: 8, 2: 1}


def _killed_in_the_middle(server: Server, deployed: Deployment, desk: Desk) -> dict[str, int]:
    """Count the requests of a session whose server is killed while it waits for the fourth."""
    before = desk.asked.copy()
    began = desk.count()
    deployed.launch(1)
    until(lambda: desk.count() == began + 3)
    desk.held.clear()
    until(lambda: desk.waiting > 0)
    server.kill()
    desk.held.set()
    server.start()
    deployed.wait(30)
    assert deployed.broken(desk.asked) == []
    return dict(desk.asked - before)
