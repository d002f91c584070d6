"""Local tools in replays: MCP servers, and callables of installed packages."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from replay.execution import task_names
from replay.live import tools
from replay.live.tools import configuration
from replay.models import Attempt
from replay.tool_review import services
from tests.support.patience import wait_until
from tests.support.queues import capture_tasks
from tests.support.servers.live_tools import UNRECORDED_CALL, configure, order_step, output, replay

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.once]
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def _no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the queue: the tests run sessions themselves."""
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE)


def lines(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_mcp_stdio_tool_runs(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOT_OF_TESTS", str(ROOT))
    log = tmp_path / "log"
    command = {"command": sys.executable, "args": ["-m", "tests.support.servers.mcp_server", "0", str(log)]}
    configure(settings, {"mcp": {**command, "env": {"PYTHONPATH": "ROOT_OF_TESTS"}, "tool": "lookup"}})
    view = replay()
    assert output(order_step(view)) == {"id": "B-9", "status": "found by mcp"}
    line = lines(log)[0]
    assert (line["tool"], line["meta"], line["variable"]) == ("lookup", str(view.id), str(view.id))


def test_failed_mcp_tool_answers_dead_one_asks(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROOT_OF_TESTS", str(ROOT))
    command = {
        "command": sys.executable,
        "args": ["-m", "tests.support.servers.mcp_server", "0", str(tmp_path / "log")],
    }
    configure(settings, {"mcp": {**command, "env": {"PYTHONPATH": "ROOT_OF_TESTS"}, "tool": "lookup"}})

    def asks(order: str) -> dict[str, Any]:
        return {
            **UNRECORDED_CALL,
            "output": {"tool_calls": [{"id": "x", "name": "get_order", "arguments": {"order_id": order}}]},
        }

    step = order_step(replay(asks("none")))
    assert step.status == "error"
    assert "Error executing tool" in output(step)
    assert replay(asks("die")).status == "awaiting_operator"
    assert len(lines(tmp_path / "log")) == 2


def test_missing_command_ends_the_replay(settings: Settings) -> None:
    configure(settings, {"mcp": {"command": "/no/such/command"}})
    view = replay()
    assert (view.status, view.error_code) == ("failed_execution", "tool_unavailable")


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def mcp_over_http(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = tmp_path / "log"
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.servers.mcp_server", str(port), str(log)], cwd=ROOT
    )
    try:
        wait_until(lambda: _listens(port), 30)
        yield f"http://127.0.0.1:{port}/mcp", log
    finally:
        process.kill()  # asked to end, it would wait for a tool that hangs
        process.wait()


def test_mcp_http_tool_runs(settings: Settings, mcp_over_http: tuple[str, Path]) -> None:
    url, log = mcp_over_http
    configure(settings, {"mcp": {"url": url, "tool": "lookup"}})
    view = replay()
    assert output(order_step(view)) == {"id": "B-9", "status": "found by mcp"}
    assert [line["meta"] for line in lines(log)] == [str(view.id)]


@pytest.fixture
def installed_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a package with a tool into a temporary folder."""
    install(
        tmp_path,
        monkeypatch,
        "def get_order(order_id, forkpoint_replay):\n"
        "    if order_id == 'B-9':\n"
        "        return {'id': order_id, 'replay': forkpoint_replay}\n"
        "    raise KeyError(order_id)\n",
    )
    yield
    configuration.callables.cache_clear()


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    (folder / "desk_tools.py").write_text(source)
    info = folder / "desk_tools-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: desk-tools\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[forkpoint.tools]\nget_order = desk_tools:get_order\n")
    monkeypatch.syspath_prepend(str(folder))
    configuration.callables.cache_clear()


@pytest.mark.usefixtures("installed_package")
def test_python_callable_runs() -> None:
    services.decide({"get_order": True}, author="ada")
    assert tools.executors() == {"get_order": "python get_order"}
    view = replay()
    assert output(order_step(view)) == {"id": "B-9", "replay": str(view.id)}


def two_orders(*orders: str) -> dict[str, Any]:
    order_ids = orders or ("B-8", "B-9")
    calls = [{"id": order, "name": "get_order", "arguments": {"order_id": order}} for order in order_ids]
    return {"match": {"step": 3}, "output": {"tool_calls": calls}}


def test_replay_shares_one_mcp_connection(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOT_OF_TESTS", str(ROOT))
    log = tmp_path / "log"
    command = {"command": sys.executable, "args": ["-m", "tests.support.servers.mcp_server", "0", str(log)]}
    configure(settings, {"mcp": {**command, "env": {"PYTHONPATH": "ROOT_OF_TESTS"}, "tool": "lookup"}})
    replay(two_orders())
    pids = [line["pid"] for line in lines(log)]
    assert (len(pids), len(set(pids))) == (2, 1)
    assert not running(pids[0])
    replay(two_orders("B-6", "B-7"))
    assert len({line["pid"] for line in lines(log)}) == 2  # another replay sees nothing of the first


def running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_dead_mcp_server_is_restarted(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOT_OF_TESTS", str(ROOT))
    log = tmp_path / "log"
    command = {"command": sys.executable, "args": ["-m", "tests.support.servers.mcp_server", "0", str(log)]}
    configure(settings, {"mcp": {**command, "env": {"PYTHONPATH": "ROOT_OF_TESTS"}, "tool": "lookup"}})
    really = tools.run

    def then_killed(tool: tools.Tool, call: tools.ToolCall) -> tools.ToolResult:
        result = really(tool, call)
        os.kill(lines(log)[-1]["pid"], 9)
        return result

    monkeypatch.setattr(tools, "run", then_killed)
    assert replay(two_orders()).status.startswith("completed")
    assert len({line["pid"] for line in lines(log)}) == 2


CALLABLE = """
import os, sys, time
calls = 0
def get_order(order_id):
    global calls
    calls += 1
    print("a line that is no answer")
    if order_id == "B-9":
        {last}
    return {{"pid": os.getpid(), "calls": calls}}
"""


@pytest.mark.parametrize(
    ("last", "idempotent", "status", "code"),
    [
        ("pass", False, "completed_simulated", ""),
        ("time.sleep(60)", False, "awaiting_operator", "unknown_outcome"),
        ("time.sleep(60)", True, "failed_execution", "timeout"),
        ("os._exit(1)", False, "awaiting_operator", "unknown_outcome"),
        ("sys.exit('no')", False, "completed_simulated", ""),
    ],
)
def test_hanging_callable_is_killed_on_timeout(
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    last: str,
    idempotent: bool,
    status: str,
    code: str,
) -> None:
    install(tmp_path, monkeypatch, CALLABLE.format(last=last))
    configure(settings, {"python": "get_order", "timeout_s": 4, "idempotent": idempotent})
    view = replay(two_orders(), retries={"max": 0})
    assert view.status == status
    assert list(Attempt.objects.order_by("id").values_list("error_code", flat=True)) == ["", code]
    outcomes: list[Any] = list(Attempt.objects.order_by("id").values_list("outcome", flat=True))
    first = outcomes[0]["output"]
    assert not running(first["pid"])
    if last == "pass":
        assert outcomes[1]["output"] == {"pid": first["pid"], "calls": 2}
    if last.startswith("sys"):
        assert outcomes[1] == {"output": {"error": "SystemExit: no"}, "status": "error"}
    configuration.callables.cache_clear()
