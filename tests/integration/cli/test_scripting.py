"""A replay from a Python program."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cockpit.demo.agent.scenarios import RECORDINGS, REFUND
from tests.support.command_line import Shell
from tests.support.patience import patience_s

pytestmark = pytest.mark.own_store
PROGRAM = """
import json, sys
from cockpit.scripting import replay

pieces = []
outcome = replay(sys.argv[1], from_step=5, system_prompt="Say it in a new way.",
                 on_text=lambda step, text: pieces.append([step, text]))
print(json.dumps([outcome["session"]["status"], pieces, outcome["steps"]]))
"""


def test_program_replays_file_and_streams_text(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(RECORDINGS / f"{REFUND}.jsonl")],
        env=shell.environment,
        capture_output=True,
        text=True,
        timeout=patience_s(120),
        check=False,
    )
    assert process.returncode == 0, process.stderr
    status, pieces, steps = json.loads(process.stdout.splitlines()[-1])
    assert status.startswith("completed")
    assert {step for step, _ in pieces} <= {
        step["sequence_no"] for step in steps if step["reason"] == "live_model_call"
    }
    assert "".join(text for _, text in pieces)
