"""A server that is killed while agents send to it."""

from pathlib import Path

import pytest

from tests.faults.ingestion import kill_while_receiving
from tests.services.server import Server

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
