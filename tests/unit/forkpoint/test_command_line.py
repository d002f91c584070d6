"""The command where only the SDK is installed: a Python that sees no other distribution."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SDK_ALONE = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from forkpoint.command_line import main; main()"


def forkpoint(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-S", "-c", SDK_ALONE, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("arguments", [("serve",), ("import", "runs"), ("--url", "http://127.0.0.1"), ()])
def test_other_commands_need_the_server(arguments: tuple[str, ...]) -> None:
    process = forkpoint(*arguments)
    assert (process.returncode, process.stdout) == (2, "")
    assert "install the distribution forkpoint-server" in process.stderr


def test_help_shows_record_and_where_the_others_are() -> None:
    process = forkpoint("--help")
    assert (process.returncode, process.stderr) == (0, "")
    assert "forkpoint record" in process.stdout
    assert "install the distribution forkpoint-server" in process.stdout


def test_record_runs_a_program() -> None:
    process = forkpoint("record", "--sink", "/dev/null/runs", sys.executable, "-c", "import sys; sys.exit(7)", "--app")
    assert process.returncode == 7
    assert "Nothing was recorded to /dev/null/runs" in process.stderr
