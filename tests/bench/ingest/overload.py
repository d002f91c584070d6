"""Overload of an embedded server over HTTP: each request is stored, or refused so that its client sends it again.

`python -m tests.bench.ingest.overload` prints the statuses and the slowest response of each kind of overload.
"""

import sqlite3
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from typing import Final

from tests.bench.ingest.server_load import Acknowledgement, running_server, send, wait_until_idle, with_new_ids
from tests.bench.ingest.workloads import requests, workload
from tests.services.server import Server

_CLIENTS: Final = 48
_SMALL_RUNS: Final = 300
_LONG_RUNS: Final = 2
# Times that the requests are sent, each time as other runs.
_SMALL_COPIES: Final = 8
_LONG_COPIES: Final = 6
# A disk that comes to a standstill: seconds without and with progress.
_STALL_S: Final = 8.0
_PROGRESS_S: Final = 1.0


def _small_requests() -> Iterator[bytes]:
    return requests(workload("small", _SMALL_RUNS))


def _long_requests() -> Iterator[bytes]:
    return requests(workload("long", _LONG_RUNS))


@contextmanager
def _no_stalls(server: Server) -> Iterator[None]:
    yield


@contextmanager
def _stalls(server: Server) -> Iterator[None]:
    """Let the database make no progress most of the time: another process holds its lock, as a slow disk would."""
    end_event = threading.Event()

    def stall() -> None:
        with closing(sqlite3.connect(server.home / "forkpoint.sqlite3", timeout=60, isolation_level=None)) as database:
            while not end_event.wait(_PROGRESS_S):
                database.execute("BEGIN IMMEDIATE")
                end_event.wait(_STALL_S)
                database.execute("ROLLBACK")

    thread = threading.Thread(target=stall)
    thread.start()
    try:
        yield
    finally:
        end_event.set()
        thread.join(timeout=60)


KINDS: Final = {
    "many clients": (_small_requests, _SMALL_COPIES, _no_stalls),
    "large requests": (_long_requests, _LONG_COPIES, _no_stalls),
    "a disk that stalls": (_small_requests, _SMALL_COPIES, _stalls),
}


@cache
def measure(name: str) -> list[Acknowledgement]:
    """Overload a server, and return its answers."""
    make_requests, copies, stalls = KINDS[name]
    bodies = [with_new_ids(body, mask) for body in make_requests() for mask in range(1, copies + 1)]
    with running_server() as server:
        with stalls(server):
            answers = send(server, bodies, _CLIENTS)
        wait_until_idle(server)
    counts = Counter(answer.status for answer in answers)
    statuses = ", ".join(f"{status}: {count}" for status, count in sorted(counts.items()))
    print(f"overload by {name}: {statuses}; slowest {slowest_of(answers):,.0f} ms", file=sys.stderr)
    return answers


def slowest_ms(name: str) -> float:
    """Return the time of the slowest response to one kind of overload."""
    return slowest_of(measure(name))


def slowest_of(answers: list[Acknowledgement]) -> float:
    return 1000 * max(answer.seconds for answer in answers)


def proper_percent(name: str) -> float:
    """Return the share of requests whose client loses nothing under one kind of overload."""
    answers = measure(name)
    return 100 * sum(answer.is_proper for answer in answers) / len(answers)


if __name__ == "__main__":
    for kind in KINDS:
        measure(kind)
