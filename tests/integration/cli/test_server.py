"""The command line against a server, and what it needs of one."""

import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from cockpit.demo.agent.record import RECORDINGS
from cockpit.demo.agent.scenarios import REFUND
from tests.support.command_line import COMMAND, Shell

pytestmark = pytest.mark.own_store
FAILED = RECORDINGS / f"{REFUND}.jsonl"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """A server of its own store, on a free port."""
    shell = Shell(tmp_path / "server")
    with subprocess.Popen(
        [*COMMAND, "serve", "--port", "0", "--no-demo"], env=shell.environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "running at http://127.0.0.1:" in line
        yield line.split()[-1]
        process.terminate()
        assert process.wait(30) == 0


def test_the_same_commands_work_against_a_server(server: str, tmp_path: Path) -> None:
    forkpoint = Shell(tmp_path / "unused")
    [run] = forkpoint("import", FAILED, "--url", server, "--json").json["runs"]
    assert forkpoint("show", "last", "--json", FORKPOINT_URL=server).json["run"]["id"] == run["id"]
    said = forkpoint("replay", run["id"], "--url", server, "--json")
    assert said.json["session"]["status"] == "completed_exact"
    report = forkpoint("diff", run["id"], said.json["run"]["id"], "--url", server, "--json").json
    shared = forkpoint("share", report["id"], "--url", server, "--json").json
    assert shared["url"].startswith(server)
    assert forkpoint("check", "--url", server, "--json").json["ok"]
    assert not (tmp_path / "unused").exists()


@pytest.mark.parametrize(("option", "told"), [("--help", "replay"), ("--version", metadata.version("forkpoint"))])
def test_what_the_command_says_of_itself_needs_nothing_of_the_server(option: str, told: str) -> None:
    program = (
        f"import sys\nsys.argv = ['forkpoint', '{option}']\nfrom cockpit.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "heavy = {'django', 'httpx', 'celery', 'pydantic', 'openai'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert told in done.stdout
