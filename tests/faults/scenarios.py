"""Fault scenarios during replays. Each returns a list of problems, which is empty if replays are durable."""

import contextlib
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.faults.deployment import Deployment, database_on, environment, wait_until, web
from tests.faults.desk import Desk
from tests.services import postgres, redis
from tests.services.server import Server

_AWAY_S: Final = 1.0


@dataclass(frozen=True, kw_only=True)
class Outcome:
    faults: int
    sessions: int
    calls: int
    questions: int
    broken: list[str]


@dataclass(frozen=True, kw_only=True)
class Services:
    """Private servers that the scenario may kill."""

    postgres: postgres.PostgresServer
    redis: redis.RedisServer

    @property
    def environment(self) -> dict[str, str]:
        return {"DATABASE_URL": database_on(self.postgres.url), "REDIS_URL": self.redis.url}

    def kill_redis(self) -> None:
        """Kill Redis; it restarts empty, so queued tasks and subscriptions are lost."""
        self.redis.kill()
        time.sleep(_AWAY_S)
        self.redis.start()

    def restart_postgres(self) -> None:
        """Restart PostgreSQL immediately: all connections are lost, new ones work."""
        self.postgres.stop()
        self.postgres.start()

    def kill_postgres(self) -> None:
        """Kill PostgreSQL, which is unavailable until it has recovered from its journal."""
        self.postgres.kill()
        time.sleep(_AWAY_S)
        self.postgres.start()


def own_services() -> Services:
    return Services(postgres=postgres.own_server(), redis=redis.own_server())


@contextlib.contextmanager
def run_distributed(home: Path, desk: Desk, services: dict[str, str], sessions: int) -> Iterator[Deployment]:
    """A web process; the scenario starts the workers."""
    deployment = Deployment(environment(home, desk.base_url, services), sessions)
    with contextlib.closing(deployment), web(deployment.env, home) as url:
        deployment.http.base_url = url
        yield deployment


@contextlib.contextmanager
def run_embedded(home: Path, desk: Desk, sessions: int) -> Iterator[tuple[Server, Deployment]]:
    """The whole product in one process, on SQLite."""
    env = environment(home, desk.base_url)
    deployment = Deployment(env, sessions)
    server = Server(home, "--no-demo", env=env)
    server.start()
    with contextlib.closing(deployment):
        try:
            deployment.http.base_url = server.url
            yield server, deployment
        finally:
            server.stop()


def kill_workers(deployment: Deployment, desk: Desk, *, kills: int, sessions: int, seed: int = 7) -> Outcome:
    """Run two workers at a time, and repeatedly kill one at a random moment."""
    chance, began, nursery = random.Random(seed), desk.count(), deployment.nursery
    deployment.launch(sessions)
    workers = [nursery.start(), nursery.start()]
    for _ in range(kills):
        wait_for_calls(desk, 1, deployment)
        time.sleep(chance.uniform(0.0, 0.25))
        deployment.open_sessions()
        nursery.kill(workers.pop(chance.randrange(len(workers))))
        workers.append(nursery.start())
    deployment.wait(60)
    nursery.clear()
    return _outcome(deployment, desk, faults=kills, began=began)


def suspend_worker(deployment: Deployment, desk: Desk, *, sessions: int) -> Outcome:
    """Suspend a worker until another takes over, and resume it in the middle of its work."""
    began, nursery = desk.count(), deployment.nursery
    silent = nursery.start()
    deployment.launch(sessions)
    wait_for_calls(desk, 4)
    os.kill(silent, signal.SIGSTOP)
    nursery.start()
    wait_for_calls(desk, 5)
    os.kill(silent, signal.SIGCONT)
    deployment.wait(60)
    nursery.clear()
    return _outcome(deployment, desk, faults=1, began=began)


def break_service(deployment: Deployment, desk: Desk, faults: list[Callable[[], None]], *, sessions: int) -> Outcome:
    """Cause each fault while workers have calls in flight."""
    began = desk.count()
    deployment.launch(sessions)
    for fault in faults:
        wait_for_calls(desk, 3)
        fault()
    deployment.wait(60)
    return _outcome(deployment, desk, faults=len(faults), began=began)


def kill_server(server: Server, deployment: Deployment, desk: Desk, *, kills: int, sessions: int) -> Outcome:
    """Kill and restart the embedded server."""
    chance, began = random.Random(7), desk.count()
    deployment.launch(sessions)
    for _ in range(kills):
        wait_for_calls(desk, 4)
        time.sleep(chance.uniform(0.0, 0.2))
        deployment.open_sessions()
        server.kill()
        server.start()
    deployment.wait(60)
    return _outcome(deployment, desk, faults=kills, began=began)


def wait_for_calls(desk: Desk, more: int, deployment: Deployment | None = None) -> None:
    """Wait for this many further calls, or until no session can make any."""
    expected_count = desk.count() + more

    def happens() -> bool:
        return desk.count() >= expected_count or (deployment is not None and not deployment.open_sessions())

    # To ask the deployment costs it a request.
    wait_until(happens, step=0.01 if deployment is None else 0.2)


def _outcome(deployment: Deployment, desk: Desk, *, faults: int, began: int) -> Outcome:
    return Outcome(
        faults=faults,
        sessions=len(deployment.session_ids),
        calls=desk.count() - began,
        questions=deployment.questions,
        broken=deployment.broken(desk.request_counts),
    )
