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


@pytest.fixture(scope="session")
def forkpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmShell]:
    """Return the command with a store that contains the demo's recordings; the tests leave these as they are."""
    warm = WarmShell(Shell(tmp_path_factory.mktemp("home")))
    result = warm("import", RECORDINGS, "--json")
    assert result.code == 0, result.err
    yield warm
    warm.close()


@pytest.fixture(scope="session")
def failed_run(forkpoint: WarmShell) -> str:
    runs = forkpoint("runs", "--json").json["runs"]
    return next(str(run["id"]) for run in runs if run["status"] == "failed")


@pytest.fixture(scope="session")
def fork(forkpoint: WarmShell, failed_run: str) -> Any:
    result = forkpoint("replay", failed_run, "--from", "5", "--overrides", "-", "--json", input=json.dumps(OVERRIDES))
    assert result.code == 0, result.err
    return result.json
