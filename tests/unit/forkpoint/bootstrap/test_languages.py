"""Which commands surely run no Python, and what `--freeze` and `forkpoint record` do with them."""

import sys
from pathlib import Path

import pytest

from forkpoint.bootstrap.languages import is_node, is_other_language
from forkpoint.bootstrap.native_clock import native_clock
from forkpoint.bootstrap.record import record

START = "2026-03-01T10:00:00+00:00"


@pytest.mark.parametrize(
    "words",
    [
        "node agent.mjs",
        "/usr/bin/node a.js",
        "npx tsx a.ts",
        "./agent.mjs",
        "env A=1 node a.js",
        "timeout 30s claude -p Hi",
    ],
)
def test_other_languages(words: str) -> None:
    assert is_other_language(words.split())


@pytest.mark.parametrize(
    "words",
    ["python a.py", "python3.12 -m agent", "uv run a.py", "sh agent.sh", "./agent", "env A=1 python a.py", "make", ""],
)
def test_what_may_be_python(words: str) -> None:
    assert not is_other_language(words.split())


def test_programs_in_node() -> None:
    assert all(is_node(words.split()) for words in ("node a.js", "env A=1 npx tsx a.ts", "./agent.mjs"))
    assert not any(is_node(words.split()) for words in ("deno run a.ts", "bun a.ts", "python a.py", ""))


def test_clock_of_another_language_needs_its_library(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    library = tmp_path / "libfaketimeMT.so.1"
    place = {"FORKPOINT_LIBFAKETIME": str(library)}
    assert native_clock(["python", "a.py"], place, START) == {}
    assert capsys.readouterr().err == ""
    assert native_clock(["bash", "a.sh"], place, START) == {}
    assert "bash: --freeze reaches the programs in Python and Node" in capsys.readouterr().err
    assert native_clock(["deno", "a.js"], place, START) == {}
    assert "warning: --freeze does not reach deno: install libfaketime" in capsys.readouterr().err
    library.touch()
    assert native_clock(["node", "a.js"], place, START) == {}
    assert "node gets the recorded clock, and random numbers and ids" in capsys.readouterr().err
    variables = native_clock(["deno", "a.js"], {**place, "LD_PRELOAD": "/lib/other.so"}, START)
    assert (variables["LD_PRELOAD"], variables["FAKETIME"]) == (f"{library} /lib/other.so", "@1772359200")


def test_program_without_the_recorder_is_reported(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert record(["--sink", str(tmp_path), "--", "sh", "-c", "exit 3"]) == 3
    assert "Nothing was recorded: the program started no Python process" in capfd.readouterr().err
    assert record(["--sink", str(tmp_path), "--", "sh", "-c", f"{sys.executable} -c pass"]) == 0
    assert "started no Python process" not in capfd.readouterr().err


def test_seed_needs_the_run_of_the_gateway(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        record(["--freeze", "--", "python", "agent.py"])
    assert "--freeze needs --gateway" in capsys.readouterr().err
