"""Experiments on the command line."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cockpit.demo.agent.record import RECORDINGS
from cockpit.demo.agent.scenarios import REFUND
from tests.support.command_line import Shell, WarmShell

pytestmark = pytest.mark.own_store
FAILED = RECORDINGS / f"{REFUND}.jsonl"


@pytest.fixture
def forkpoint(tmp_path: Path) -> Iterator[WarmShell]:
    shell = Shell(tmp_path / "home")
    assert shell("import", RECORDINGS, "--json").code == 0  # others hold what the tools answer
    warm = WarmShell(shell)
    yield warm
    warm.close()


def test_models_are_priced_and_compared(forkpoint: WarmShell, tmp_path: Path) -> None:
    """The small model takes cents for euros, the large one does not."""
    values = [
        {"name": name, "overrides": [{"match": {"type": "model"}, "model": {"model": name}}]}
        for name in ("desk-small-1", "desk-large-1")
    ]
    matrix = tmp_path / "matrix.json"
    given = {"axes": [{"name": "model", "values": values}], "checks": [{"kind": "contains", "text": "42.00 EUR"}]}
    matrix.write_text(json.dumps(given))
    plan = forkpoint("experiment", FAILED, matrix, "--from", "5", "--preview", "--json")
    assert (plan.code, plan.json["plan"]["rows"], plan.json["plan"]["refusals"]) == (0, 2, [])
    made = forkpoint("experiment", FAILED, matrix, "--from", "5", "--json")
    assert made.code == 0, made.err
    assert [cell["pass_rate"] for cell in made.json["experiment"]["aggregates"]] == [0, 1]
    assert "model desk-large-1, sample 1: completed" in made.err
    matrix.write_text(json.dumps({**given, "axes": [{"name": "model", "values": []}]}))
    assert forkpoint("experiment", FAILED, matrix).code == 2
    assert forkpoint("experiment", FAILED, tmp_path / "missing.json").code == 2
