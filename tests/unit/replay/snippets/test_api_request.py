"""Requests as curl commands, executed in a shell."""

import subprocess
from pathlib import Path

import pytest

from replay.snippets.core.api_request import ApiKey, ApiRequest

HOSTILE = "'; touch x; '\"$(touch x)`touch x`\nJSON\ntouch x\r\x1b[201~touch x"


# zsh has no comments on its command line either.
@pytest.mark.parametrize("comments", ["-O", "+O"])
def test_hostile_command_runs_only_curl(comments: str, tmp_path: Path) -> None:
    request = ApiRequest(
        url=f"https://example.com/{HOSTILE}",
        body={HOSTILE: [HOSTILE]},
        key=ApiKey(header="Authorization", prefix="Bearer ", variable="KEY"),
        headers={"x-version": HOSTILE},
        left_out=(HOSTILE, "logprobs"),
    )
    commands = "curl() { cat >> body; }\n" + request.as_curl()
    shell = ["bash", "--norc", "--noprofile", comments, "interactive_comments", "-i"]
    subprocess.run(shell, input=commands, cwd=tmp_path, capture_output=True, text=True, timeout=30, check=False)
    assert [path.name for path in tmp_path.iterdir()] == ["body"]
    assert "logprobs" in commands
