"""Notes about the runner that a search waits for."""

import pytest

from cockpit.cli.commands.searches.waiting import note_wait


def test_wait_for_a_runner_is_noted_once(capsys: pytest.CaptureFixture[str]) -> None:
    note = ""
    for waits_for in (
        "",
        "no runner of desk is online",
        "no runner of desk is online",
        "",
        "no runner of shop is online",
    ):
        note = note_wait({"waits_for": waits_for}, note)
    lines = [line for line in capsys.readouterr().err.splitlines() if line]
    assert lines == ["waiting: no runner of desk is online", "waiting: no runner of shop is online"]
