"""`forkpoint watch`: sessions of coding agents, sent while they are written."""

from pathlib import Path

import pytest

from tests.services.server import Server
from tests.support import importing_fixtures as fixtures
from tests.support.command_line import Shell
from tests.support.http import HTTP
from tests.support.patience import patience_s, wait_until
from traces.importers.files.source import Source
from traces.importers.formats.coding_agents import codex

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
    finally:
        server.kill()


def test_missing_folder_is_an_error(tmp_path: Path) -> None:
    assert Shell(tmp_path / "home")("watch", tmp_path / "none", "--once").code == 2


def _expected_steps(data: bytes) -> int:
    (run,) = codex.parse([Source(name="rollout-1.jsonl", data=data)])
    return len(run.steps)
