"""Options of `forkpoint record`."""

import json
import sys
from pathlib import Path

import pytest

from forkpoint.bootstrap.record import record

PRINT = "import json, os, sys; print(json.dumps([dict(os.environ), sys.argv[1:]]))"


def environment_of(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> dict[str, str]:
    assert record([*arguments, "--", sys.executable, "-c", PRINT]) == 0
    variables, _ = json.loads(capfd.readouterr().out)
    return dict(variables)


def test_options_reach_the_program(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    variables = environment_of(["--app", "desk", "--url", "http://127.0.0.1:9", "--token", "t"], capfd)
    assert [variables[f"FORKPOINT_{name}"] for name in ("APP", "URL", "TOKEN", "TRACES", "RECORD")] == [
        "desk",
        "http://127.0.0.1:9",
        "t",
        "",
        "1",
    ]
    variables = environment_of(["--sink", str(tmp_path)], capfd)
    assert variables["FORKPOINT_TRACES"] == str(tmp_path)


def test_options_after_the_program_are_its_own(capfd: pytest.CaptureFixture[str]) -> None:
    assert record([sys.executable, "-c", PRINT, "--app", "desk", "--", "--token"]) == 0
    variables, arguments = json.loads(capfd.readouterr().out)
    assert arguments == ["--app", "desk", "--", "--token"]
    assert "FORKPOINT_APP" not in variables


@pytest.mark.parametrize("arguments", [[], ["--"], ["--app", "desk"]])
def test_a_missing_program_is_bad_input(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        record(arguments)
    assert stop.value.code == 2
    assert "forkpoint record -- python agent.py" in capsys.readouterr().err


def test_an_unknown_program_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert record(["--", "no-such-program"]) == 2
    assert "cannot run no-such-program" in capsys.readouterr().err


def test_a_signal_becomes_the_code_that_shells_show() -> None:
    assert record(["--", sys.executable, "-c", "import os; os.kill(os.getpid(), 15)"]) == 143


RUN = "from forkpoint import recorder; recorder.run('refund')(lambda: None)()"


@pytest.mark.parametrize("name", ["runs", "runs.jsonl"])
def test_note_names_what_can_be_imported(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / name
    note = f"Recorded to {place}. Import it: forkpoint import {place}\n"
    for _ in range(2):
        assert record(["--sink", str(place), "--", sys.executable, "-c", RUN]) == 0
        assert capfd.readouterr().err == note
    assert record(["--sink", str(place), "--", sys.executable, "-c", ""]) == 0
    assert capfd.readouterr().err.startswith(f"Nothing was recorded to {place}: ")


def test_note_names_no_place_where_recording_is_off(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORKPOINT_TRACES", "off")
    assert record(["--", sys.executable, "-c", RUN]) == 0
    assert capfd.readouterr().err == ""
