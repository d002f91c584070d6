"""`forkpoint watch`: sessions of coding agents, sent while they are written."""

import subprocess
import time
from pathlib import Path

import pytest

from tests.services.processes import free_port
from tests.services.server import Server
from tests.support import importing_fixtures as fixtures
from tests.support.command_line import COMMAND, Shell
from tests.support.http import HTTP
from tests.support.patience import patience_s, wait_until
from traces.importers.files.source import Source
from traces.importers.formats.codex import rollouts

pytestmark = pytest.mark.own_store


def _runs(server: Server, steps: int) -> list[dict[str, object]]:
    """Return the runs once one of them has this many steps."""

    def look() -> list[dict[str, object]]:
        runs: list[dict[str, object]] = HTTP.get(f"{server.url}/api/v1/runs", timeout=patience_s(10)).json()["runs"]
        return runs if any(run["steps"] == steps for run in runs) else []

    return wait_until(look, 20)


def test_growing_sessions_are_sent_and_resumed(tmp_path: Path) -> None:
    lines = (fixtures.FOLDER / "codex.jsonl").read_bytes().splitlines(keepends=True)
    folder = tmp_path / "sessions" / "2026"
    folder.mkdir(parents=True)
    session = folder / "rollout-1.jsonl"
    (folder / "notes.jsonl").write_text('{"no": "session"}\n')
    shell, server = Shell(tmp_path / "home"), Server(tmp_path / "home", "--no-demo")
    server.start()
    try:
        session.write_bytes(b"".join(lines[:7]) + lines[7][:10])
        assert shell("watch", folder, "--once", "--url", server.url).code == 0
        whole = _expected_steps(b"".join(lines[:7]))
        assert [(run["format"], run["steps"], run["sealed"]) for run in _runs(server, whole)] == [
            ("codex", whole, False)
        ]
        session.write_bytes(b"".join(lines))
        assert shell("watch", folder, "--once", "--url", server.url).code == 0
        grown = _expected_steps(b"".join(lines))
        assert [run["steps"] for run in _runs(server, grown)] == [grown]
        session.write_bytes(lines[0])
        result = shell("watch", folder, "--once", "--url", server.url)
        assert "shorter than the part that was already sent" in result.err
        assert result.code == 2
    finally:
        server.kill()


def test_single_pass_without_a_server_is_an_error(tmp_path: Path) -> None:
    folder = _session_folder(tmp_path)
    result = Shell(tmp_path / "home")("watch", folder, "--once", "--url", f"http://127.0.0.1:{free_port()}")
    assert result.code == 6
    assert result.err.count("cannot reach") == 1


def test_outage_is_reported_once_and_waited_for(tmp_path: Path) -> None:
    folder = _session_folder(tmp_path)
    shell, server = Shell(tmp_path / "home"), Server(tmp_path / "home", "--no-demo")
    server.url = f"http://127.0.0.1:{free_port()}"
    log = tmp_path / "watch.log"
    with log.open("wb") as stream:
        command = [*COMMAND, "watch", str(folder), "--url", server.url]
        watch = subprocess.Popen(command, stdout=stream, stderr=stream, env=shell.environment)
    try:
        wait_until(lambda: "cannot reach" in log.read_text(), 20)
        time.sleep(3)
        server.start()
        wait_until(lambda: "The server answers again." in log.read_text(), 40)
        _runs(server, _expected_steps((fixtures.FOLDER / "codex.jsonl").read_bytes()))
        assert log.read_text().count("cannot reach") == 1
    finally:
        watch.kill()
        watch.wait()
        server.kill()


def _session_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "sessions"
    folder.mkdir()
    (folder / "rollout-1.jsonl").write_bytes((fixtures.FOLDER / "codex.jsonl").read_bytes())
    return folder


def test_missing_folder_is_an_error(tmp_path: Path) -> None:
    assert Shell(tmp_path / "home")("watch", tmp_path / "none", "--once").code == 2


def _expected_steps(data: bytes) -> int:
    (run,) = rollouts.parse([Source(name="rollout-1.jsonl", data=data)])
    return len(run.steps)
