"""A command with its own store of the demo's recordings, and a fork of the failed run."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cockpit.demo.agent.scenarios import RECORDINGS, REFUND
from tests.support.command_line import Shell, WarmShell

FAILED = RECORDINGS / f"{REFUND}.jsonl"
FIXED_PROMPT = "You are the order desk. Today is 2026-11-20. Totals are in cents. Answer in one sentence."
OVERRIDES = {"overrides": [{"match": {"type": "model"}, "prompt": {"system": FIXED_PROMPT}}]}


@pytest.fixture(scope="session")
def demo_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store that contains the demo's recordings, to be copied."""
    warm = WarmShell(Shell(tmp_path_factory.mktemp("demo") / "home"))
    result = warm("import", RECORDINGS, "--json")
    warm.close()
    assert result.code == 0, result.err
    return warm.shell.home


@pytest.fixture(scope="module")
def forkpoint(demo_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmShell]:
    """Return the command with a store of the module's own, which contains the demo's recordings."""
    warm = WarmShell(Shell(shutil.copytree(demo_home, tmp_path_factory.mktemp("store") / "home")))
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
