"""A server that is killed while agents send to it."""

from pathlib import Path

import pytest

from tests.faults.ingestion import kill_while_receiving
from tests.services.server import Server
from tests.support.arriving_events import answer, beginning, lines
from tests.support.http import HTTP
from tests.support.patience import patience_s, wait_until

pytestmark = pytest.mark.own_store


def test_killed_server_loses_nothing_acknowledged(tmp_path: Path) -> None:
    server = Server(tmp_path / "home", "--no-demo", env={"FORKPOINT_QUIET_S": "0.5"})
    server.start()
    try:
        outcome = kill_while_receiving(server, kills=2)
    finally:
        server.kill()
    assert outcome.traces > 0
    assert outcome.problems == []


def test_run_of_a_killed_server_is_sealed_after_the_restart(tmp_path: Path) -> None:
    server = Server(tmp_path / "home", "--no-demo", env={"FORKPOINT_QUIET_S": "0.5"})

    def status(run: str) -> tuple[str, bool]:
        stored = HTTP.get(f"{server.url}/api/v1/runs/{run}", timeout=patience_s(10)).json()
        return stored.get("status"), stored.get("sealed")

    server.start()
    try:
        for run in ("dead", "alive"):
            HTTP.post(f"{server.url}/api/v1/events", content=lines(beginning(run)), timeout=patience_s(10))
        wait_until(lambda: status("dead") == status("alive") == ("running", False), 20)
        server.kill()
        server.start()
        HTTP.post(f"{server.url}/api/v1/events", content=lines(answer("alive")), timeout=patience_s(10))
        wait_until(lambda: status("dead") == ("partial", True), 20)
    finally:
        server.kill()
