"""A command with its own store of the demo's recordings, and a fork of the failed run."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from cockpit.demo.agent.scenarios import RECORDINGS, REFUND
from tests.support.command_line import Shell, WarmShell

FAILED = RECORDINGS / f"{REFUND}.jsonl"
FIXED_PROMPT = "You are the order desk. Today is 2026-11-20. Totals are in cents. Answer in one sentence."
OVERRIDES = {"overrides": [{"match": {"type": "model"}, "prompt": {"system": FIXED_PROMPT}}]}


@pytest.fixture(scope="module")
def forkpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmShell]:
    """Return the command with its own store, which contains the demo's recordings."""
    shell = Shell(tmp_path_factory.mktemp("home"))
    result = shell("import", RECORDINGS, "--json")
    assert result.code == 0, result.err
    warm = WarmShell(shell)
    yield warm
    warm.close()


@pytest.fixture(scope="module")
def failed_run(forkpoint: WarmShell) -> str:
    runs = forkpoint("runs", "--json").json["runs"]
    return next(str(run["id"]) for run in runs if run["status"] == "failed")


@pytest.fixture(scope="module")
def fork(forkpoint: WarmShell, failed_run: str) -> Any:
    result = forkpoint("replay", failed_run, "--from", "5", "--overrides", "-", "--json", input=json.dumps(OVERRIDES))
    assert result.code == 0, result.err
    return result.json
