"""The runner of the demo's order desk: it ends with the server, and its agent does what was recorded."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cockpit.demo.agent.scenarios import SCENARIOS
from tests.services.server import Server
from tests.support.command_line import Shell
from tests.support.http import HTTP
from tests.support.patience import patience_s, wait_until

pytestmark = pytest.mark.own_store
LIMIT_S = 60


class Cockpit:
    """A server with the demo that others can reach, so that its runner needs a token as well."""

    def __init__(self, home: Path) -> None:
        self.server = Server(home, env={"FORKPOINT_HOST": "0.0.0.0", "FORKPOINT_TAKEOVER_S": "3"})
        self._token = Shell(home)("token", "create", "tests", "--role", "admin", "--json").json["token"]
        self._runners: set[int] = set()

    def ask(self, path: str, body: Any = None) -> Any:
        url = self.server.url.replace("0.0.0.0", "127.0.0.1") + f"/api/v1{path}"
        headers = {"authorization": f"Bearer {self._token}"}
        options: Any = {"headers": headers, "timeout": patience_s(30)}
        response = HTTP.get(url, **options) if body is None else HTTP.post(url, json=body, **options)
        assert response.status_code < 300, response.text
        return response.json()

    def wait_for_tour(self) -> Any:
        def tour() -> Any:
            tour = self.ask("/tour")
            return None if tour["is_loading"] else tour

        return wait_until(tour, LIMIT_S)

    def wait_for_runner(self) -> Any:
        return wait_until(lambda: next(iter(self.online()), None), LIMIT_S)

    def online(self) -> list[Any]:
        return [runner for runner in self.ask("/runners")["runners"] if runner["state"] == "online"]

    def processes(self) -> list[int]:
        """Return the runners of the demo that this server has started, or that it has left behind."""
        parents = {int(folder.name): _parent_of_runner(folder) for folder in Path("/proc").glob("[0-9]*")}
        # One that is left behind has another parent. Its environment, which names the server, is hidden.
        self._runners |= {runner for runner, parent in parents.items() if parent == self.server.pid}
        return [runner for runner in self._runners if parents.get(runner)]

    def ended(self, session: str) -> Any:
        def view() -> Any:
            view = self.ask(f"/replays/{session}")
            return view if view["ended_at"] and (view["diff"] or view["error"]) else None

        return wait_until(view, LIMIT_S)


def _parent_of_runner(process: Path) -> int:
    """Return the parent of a runner of the demo; 0 for any other process."""
    try:
        if b"cockpit.demo.runner" in (process / "cmdline").read_bytes().split(b"\0"):
            # The name of the program before it is in parentheses.
            return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        pass
    return 0


@pytest.fixture(scope="module")
def cockpit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cockpit]:
    cockpit = Cockpit(tmp_path_factory.mktemp("demo") / "home")
    cockpit.server.start()
    yield cockpit
    assert cockpit.server.stop() == 0
    assert cockpit.processes() == []


def test_agent_does_what_was_recorded(cockpit: Cockpit) -> None:
    cockpit.wait_for_tour()
    runner = cockpit.wait_for_runner()
    assert (runner["app"], runner["name"]) == ("order-desk", "demo")
    runs = [run for run in cockpit.ask("/runs?app=order-desk&limit=50")["runs"] if run["source"] == "import"]
    assert len(runs) == len(SCENARIOS)
    sessions = [cockpit.ask("/replays", {"run": run["id"], "engine": "agent"})["id"] for run in runs]
    for run, session in zip(runs, sessions, strict=True):
        view = cockpit.ended(session)
        recorded_steps, steps = (cockpit.ask(f"/runs/{id}/steps")["steps"] for id in (run["id"], view["run"]))
        assert {step["label"] for step in steps} == {"exact"}, run["name"]
        assert [step["name"] for step in steps] == [step["name"] for step in recorded_steps]
        assert (view["status"], view["live_calls"], view["outcome"]) == ("completed_exact", 0, run["outcome"])


def test_validator_of_the_agent_decides_the_first_fork(cockpit: Cockpit) -> None:
    tour = cockpit.wait_for_tour()
    cockpit.wait_for_runner()
    fix = cockpit.ask(f"/replays/{tour['session']}")
    fork = {"run": tour["run"], "fork_step": fix["fork_sequence_no"], "engine": "auto"}
    prompt = fix["overrides"]["overrides"][0]["prompt"]["system"]
    change = {"match": {"type": "model"}, "prompt": {"system": prompt}}
    failed, fixed = (
        cockpit.ended(cockpit.ask("/replays", {**fork, "overrides": {"overrides": overrides}})["id"])
        for overrides in ([], [change])
    )
    assert [(view["engine"], view["outcome"]) for view in (failed, fixed)] == [("agent", "failed"), ("agent", "passed")]
    steps = {step["name"]: step for step in cockpit.ask(f"/runs/{fixed['run']}/steps")["steps"]}
    assert (steps["refund fits the order"]["reason"], steps["refund fits the order"]["status"]) == ("agent_ran", "ok")
    assert "desk-small-1" in steps
    assert fixed["cost_usd"] == 0
    assert [(view["planned_steps"], view["resolved_steps"]) for view in (failed, fixed)] == [(11, 11)] * 2
    # Its calls were made before, in the fork of the demo: a cached answer of a free model is free, too.
    assert steps["desk-small-1"]["label"] == "cached"
    assert cockpit.ask(f"/runs/{fixed['run']}")["cost_usd"] == 0
    tree = cockpit.ask(f"/runs/{tour['run']}/tree")["runs"]
    assert all(fork["latency_ms"] for fork in tree if fork["id"] in (failed["run"], fixed["run"]))

    plan = cockpit.ask(f"/diffs/{fixed['diff']}/prove/preview", {})
    proof = cockpit.ask(f"/diffs/{fixed['diff']}/prove", {"budget": {"live_calls": plan["live_calls"]}})["id"]
    wait_until(lambda: cockpit.ask(f"/proofs/{proof}")["status"] == "completed", LIMIT_S)
    findings = cockpit.ask(f"/proofs/{proof}")["findings"]
    assert (findings["verdict"], findings["confidence"]) == ("single", "high"), findings["rule"]


def test_fork_that_the_agent_cannot_make_follows_the_recording(cockpit: Cockpit) -> None:
    run = cockpit.wait_for_tour()["run"]
    cockpit.wait_for_runner()

    def engine(**request: Any) -> str:
        return str(cockpit.ask("/replays/preview", {"run": run, "engine": "auto", **request})["engine"])

    match: Any = {"type": "retrieval"}
    documents = {"overrides": [{"match": match, "retrieval": {"documents": []}}]}
    assert engine() == "agent"
    assert engine(overrides=documents) == "follow"
    assert engine(policy={"allow": ["model", "tool"]}) == "follow"


def test_runner_starts_again_and_ends_with_the_server(cockpit: Cockpit) -> None:
    cockpit.wait_for_runner()
    [first] = cockpit.processes()
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: cockpit.processes() not in ([], [first]) and cockpit.online(), LIMIT_S)

    cockpit.server.kill()
    wait_until(lambda: not cockpit.processes(), LIMIT_S)
    cockpit.server.start()
    cockpit.wait_for_runner()
    assert len(cockpit.processes()) == 1


def test_runner_does_not_start_without_runs(cockpit: Cockpit) -> None:
    runs = [run["id"] for run in cockpit.ask("/runs?app=order-desk&limit=200")["runs"]]
    cockpit.ask("/runs/delete", {"runs": runs, "includes_citations": True})
    assert cockpit.server.stop() == 0
    cockpit.server.start()
    assert cockpit.wait_for_tour()["run"] is None
    # It would start now.
    time.sleep(1)
    assert (cockpit.online(), cockpit.processes()) == ([], [])
