"""The command that a coding agent runs in place of its own: it prints what the agent showed to the model."""

import subprocess
import tempfile
from pathlib import Path

import pytest

from forkpoint.bootstrap.hook import replacement


@pytest.mark.parametrize(
    ("output", "text", "code"),
    [
        ("it's 100 %\n$HOME", "it's 100 %\n$HOME", 0),
        ("Exit code 3\nno such file", "no such file", 3),
        ("Exit code 1", "", 1),
        (
            "Chunk ID: ed063e\nWall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nOutput:\nx",
            "Output:\nx",
            2,
        ),
        ("long " * 30_000, "long " * 30_000, 0),
    ],
)
def test_command_prints_the_recorded_text_and_ends_alike(
    output: str, text: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    process = subprocess.run(["sh", "-c", replacement(output, "")], capture_output=True, text=True, check=False)
    assert (process.stdout, process.returncode) == (text, code)
    assert not [*tmp_path.iterdir()]
