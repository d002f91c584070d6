"""The command line against a server."""

import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from cockpit.demo.agent.scenarios import RECORDINGS, REFUND
from tests.support.command_line import COMMAND, Shell
from tests.support.http import HTTP
from tests.support.patience import patience_s, wait_until

pytestmark = pytest.mark.own_store
INDEX_LIMIT_S = 30
FAILED = RECORDINGS / f"{REFUND}.jsonl"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """Start a server with its own store on a free port."""
    shell = Shell(tmp_path / "server")
    with subprocess.Popen(
        [*COMMAND, "serve", "--port", "0", "--no-demo"], env=shell.environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "running at http://127.0.0.1:" in line
        yield line.split()[-1]
        process.terminate()
        assert process.wait(patience_s(30)) == 0


def test_commands_work_against_server(server: str, tmp_path: Path) -> None:
    forkpoint = Shell(tmp_path / "unused")
    [run] = forkpoint("import", FAILED, "--url", server, "--json").json["runs"]
    assert forkpoint("show", "last", "--json", FORKPOINT_URL=server).json["run"]["id"] == run["id"]
    replay = forkpoint("replay", run["id"], "--url", server, "--json")
    assert replay.json["session"]["status"] == "completed_exact"
    report = forkpoint("diff", run["id"], replay.json["run"]["id"], "--url", server, "--json").json
    link = forkpoint("share", report["id"], "--url", server, "--json").json
    assert link["url"].startswith(server)
    assert forkpoint("check", "--url", server, "--json").json["ok"]
    assert not (tmp_path / "unused").exists()


def test_server_indexes_runs_for_search(server: str, tmp_path: Path) -> None:
    [run] = Shell(tmp_path / "unused")("import", FAILED, "--url", server, "--json").json["runs"]

    def find_hits() -> list[dict[str, Any]]:
        response = HTTP.get(f"{server}/api/v1/runs", params={"q": "refund"}, timeout=patience_s(10))
        hits: list[dict[str, Any]] = response.json()["hits"]
        return hits

    [hit] = wait_until(find_hits, INDEX_LIMIT_S)
    assert hit["run"] == run["id"]


def test_signal_during_start_stops_the_server(tmp_path: Path) -> None:
    program = (
        "import os, signal, uvicorn\n"
        "run = uvicorn.Server.run\n"
        "def signalled(*arguments, **options):\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    run(*arguments, **options)\n"
        "uvicorn.Server.run = signalled\n"
        "from cockpit.cli import main\n"
        "main()\n"
    )
    process = subprocess.run(
        [sys.executable, "-c", program, "serve", "--port", "0", "--no-demo"],
        env=Shell(tmp_path / "server").environment,
        capture_output=True,
        text=True,
        timeout=patience_s(60),
        check=False,
    )
    assert process.returncode == 0, process.stderr


@pytest.mark.parametrize(("option", "text"), [("--help", "replay"), ("--version", metadata.version("forkpoint"))])
def test_help_and_version_import_no_server_code(option: str, text: str) -> None:
    program = (
        f"import sys\nsys.argv = ['forkpoint', '{option}']\nfrom cockpit.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "heavy = {'django', 'httpx2', 'celery', 'pydantic', 'openai'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)\n"
    )
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    assert text in process.stdout
