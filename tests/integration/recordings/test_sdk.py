"""The capture SDK and a real server: what an agent records is a run there, whatever happens in between."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.services.server import Server
from tests.support.http import HTTP
from tests.support.patience import patience_s, wait_until

pytestmark = pytest.mark.own_store
AGENT = """
import sys, forkpoint
recorder = forkpoint.init(app="desk", instrument=False)
with recorder.run("refund", input="Where is order 7?") as run:
    with recorder.model("m1", provider="local", messages=[{"role": "user", "content": "Where is order 7?"}]) as model:
        model.record_response({"choices": [{"message": {"role": "assistant", "content": "Shipped."}}]})
    with recorder.tool("get_order", {"id": 7}, call_id="c1") as tool:
        tool.output = "shipped"
    recorder.output("Shipped.").record()
print(run.id, forkpoint.flush(20), forkpoint.stats()["sent"])
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server") / "home", "--no-demo", env={"FORKPOINT_QUIET_S": "1"})
    server.start()
    yield server
    server.stop()


def run_agent(url: str, home: Path) -> list[str]:
    environment = {**os.environ, "FORKPOINT_URL": url, "FORKPOINT_HOME": str(home)}
    arguments = [sys.executable, "-c", AGENT]
    process = subprocess.run(
        arguments, env=environment, capture_output=True, text=True, timeout=patience_s(60), check=True
    )
    return process.stdout.split()


def stored_run(server: Server, id: str) -> Any:
    def summary() -> Any:
        response = HTTP.get(f"{server.url}/api/v1/runs/{id}", timeout=patience_s(10))
        return response.json() if response.status_code == 200 and response.json()["status"] != "running" else None

    return wait_until(summary, 30)


def test_recorded_run_is_on_the_server(server: Server, tmp_path: Path) -> None:
    id, has_flushed, sent_count = run_agent(server.url, tmp_path)
    assert (has_flushed, sent_count) == ("True", "8")
    run = stored_run(server, id)
    assert (run["name"], run["app"], run["status"], run["steps"]) == ("refund", "desk", "completed", 3)


def test_run_recorded_without_server_arrives_with_the_next(server: Server, tmp_path: Path) -> None:
    server.stop()
    id, has_flushed, sent_count = run_agent(server.url, tmp_path)
    assert (has_flushed, sent_count) == ("False", "0")
    server.start()
    next_id, has_flushed, _ = run_agent(server.url, tmp_path)
    assert has_flushed == "True"
    assert stored_run(server, id)["steps"] == stored_run(server, next_id)["steps"] == 3
