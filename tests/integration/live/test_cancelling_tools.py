"""Cancelling a session while its tool hangs, for every kind of tool."""

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings

from replay.execution import runner, task_names
from replay.live.tools import configuration
from replay.sessions import queries, services
from tests.integration.live.test_local_tools import ROOT, install, mcp_over_http
from tests.support.patience import wait_until
from tests.support.queues import capture_tasks
from tests.support.servers.live_tools import UNRECORDED_CALL, configure, launch

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.once]
HANGING: dict[str, Any] = {
    **UNRECORDED_CALL,
    "output": {"tool_calls": [{"id": "x", "name": "get_order", "arguments": {"order_id": "hang"}}]},
}
LATE_S = 300  # what the tool may take: far longer than the test waits
__all__ = ["mcp_over_http"]


@pytest.fixture(autouse=True)
def _no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the queue: the tests run sessions themselves."""
    capture_tasks(monkeypatch, task_names.EXECUTE, task_names.COMPARE)


def cancel_hanging_replay(has_started: Callable[[], bool]) -> None:
    """Run a replay, cancel it when its tool starts, and check that it ends immediately."""
    session = launch(HANGING)

    def work() -> None:
        try:
            runner.execute(session)
        finally:
            connection.close()

    running = threading.Thread(target=work, daemon=True)
    running.start()
    wait_until(lambda: has_started() or not running.is_alive(), 60)
    assert running.is_alive(), queries.session_view(session).error
    services.cancel(session)
    running.join(30)
    view = queries.session_view(session)
    assert (running.is_alive(), view.status) == (False, "cancelled")


def test_cancel_interrupts_mcp_stdio_server(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROOT_OF_TESTS", str(ROOT))
    log = tmp_path / "log"
    command = {"command": sys.executable, "args": ["-m", "tests.support.servers.mcp_server", "0", str(log)]}
    server = {**command, "env": {"PYTHONPATH": "ROOT_OF_TESTS"}, "tool": "lookup"}
    configure(settings, {"mcp": server, "timeout_s": LATE_S})
    cancel_hanging_replay(log.exists)


def test_cancel_interrupts_mcp_http_server(settings: Settings, mcp_over_http: tuple[str, Path]) -> None:
    url, log = mcp_over_http
    configure(settings, {"mcp": {"url": url, "tool": "lookup"}, "timeout_s": LATE_S})
    cancel_hanging_replay(log.exists)


def test_cancel_interrupts_python_callable(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marker = tmp_path / "begun"
    work = f"    pathlib.Path({str(marker)!r}).touch()\n    time.sleep(600)\n"
    install(tmp_path, monkeypatch, f"import pathlib, time\ndef get_order(order_id):\n{work}")
    try:
        configure(settings, {"python": "get_order", "timeout_s": LATE_S})
        cancel_hanging_replay(marker.exists)
    finally:
        configuration.callables.cache_clear()
