"""Killing the workers of replays at random moments: `python -m tests.faults [kills]`, on PostgreSQL and Redis."""

import os
import random
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg

from tests import fault_process
from tests.provider_server import Exchange, openai_chunk, provider_server
from tests.services import postgres, redis
from tests.services.processes import scratch_folder

KILLS_PER_SESSION = 2.5
_PAUSE_S = 0.05
_PATIENCE_S = 240


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of it; `broken` says in words what was lost or repeated."""

    kills: int
    sessions: int
    requests: int
    broken: list[str]


def distributed(database_url: str, redis_url: str) -> dict[str, str]:
    """A fresh database on a server, and the Redis, as environment."""
    name = f"faults_{uuid4().hex[:12]}"
    with psycopg.connect(database_url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}".encode())
    # Not the Redis database of the tests themselves, whose workers would take the work.
    return {
        "DATABASE_URL": f"{database_url.rpartition('/')[0]}/{name}",
        "REDIS_URL": f"{redis_url.rpartition('/')[0]}/7",
    }


def kill_workers(home: Path, *, kills: int, services: dict[str, str], seed: int = 7) -> Outcome:
    """Replay with live calls while workers are killed at random points, then let one finish."""
    sessions = max(2, round(kills / KILLS_PER_SESSION))
    with provider_server(_answer) as server:
        env = fault_process.environment(home, server.base_url, sessions=sessions, services=services)
        fault_process.ask("prepare", env)
        nursery = fault_process.Nursery(env)
        chance, killed = random.Random(seed), 0
        while killed < kills and fault_process.unfinished(env):
            worker, asked, until = nursery.start(), len(server.seen), time.monotonic() + 60
            while len(server.seen) == asked and fault_process.unfinished(env) and time.monotonic() < until:
                time.sleep(0.005)
            time.sleep(chance.uniform(0.0, 0.4))
            os.kill(worker, signal.SIGKILL)
            killed += 1
        nursery.close()
        reports = _finished(env)
        requests = Counter(exchange.body["messages"][-1]["content"] for exchange in server.seen)
    broken = fault_process.lost_or_repeated(reports, requests)
    return Outcome(kills=killed, sessions=len(reports), requests=sum(requests.values()), broken=broken)


def _finished(env: dict[str, str]) -> list[Any]:
    """The reports of all sessions, once a worker that nobody kills has ended them."""
    worker, until = fault_process.start("work", env), time.monotonic() + _PATIENCE_S
    try:
        while fault_process.unfinished(env) and time.monotonic() < until:
            time.sleep(0.1)
    finally:
        fault_process.kill(worker)
    reports: list[Any] = fault_process.ask("report", env)
    return reports


def _answer(exchange: Exchange) -> None:
    question = exchange.body["messages"][-1]["content"]
    try:
        exchange.stream()
        exchange.send(openai_chunk({"role": "assistant", "content": "Live "}))
        time.sleep(_PAUSE_S)
        exchange.send(openai_chunk({"content": f"answer to: {question}"}, finish="stop"))
        exchange.send("[DONE]")
    except OSError:
        return  # the worker that asked is dead


def main(kills: int) -> int:
    services = distributed(postgres.database_url(), redis.redis_url())
    began = time.monotonic()
    outcome = kill_workers(scratch_folder("fp-faults-"), kills=kills, services=services)
    print(
        f"{outcome.kills} workers killed in {time.monotonic() - began:.0f} s over {outcome.sessions} replays with "
        f"{outcome.requests} live calls: {len(outcome.broken)} broken"
    )
    for text in outcome.broken:
        print(text)
    return 1 if outcome.broken or outcome.kills < kills else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100))
