"""`forkpoint record`: run a program and record its calls."""

import json
import sys
from pathlib import Path

import pytest

from tests.support.command_line import Shell
from tests.support.servers.event_server import event_server
from tests.support.servers.provider_server import openai_text, provider_server

pytestmark = pytest.mark.once
PROGRAM = """
import openai, sys
client = openai.OpenAI(api_key="none", base_url=sys.argv[1])
print(client.chat.completions.create(model="m1", messages=[], stream=True) is not None)
sys.exit(int(sys.argv[2]))
"""


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path / "home")


def test_record_writes_files_and_keeps_exit_code(shell: Shell, tmp_path: Path) -> None:
    with provider_server(openai_text("Hello.")) as provider:
        command = [sys.executable, "-c", PROGRAM, provider.base_url, "7"]
        result = shell("record", "--app", "desk", "--sink", tmp_path / "runs", "--", *command)
    assert (result.code, result.out) == (7, "True\n")
    assert "forkpoint import" in result.err
    [path] = (tmp_path / "runs").glob("*.jsonl")
    start = json.loads(path.read_text().splitlines()[0])
    assert start["payload"]["app_id"] == "desk"
    assert shell("import", tmp_path / "runs", "--json").json["runs"][0]["steps"] == 1


def test_record_sends_to_server(shell: Shell) -> None:
    with provider_server(openai_text("Hello.")) as provider, event_server() as server:
        command = [sys.executable, "-c", PROGRAM, provider.base_url, "0"]
        result = shell("record", "--url", server.url, "--token", "t", "--", *command)
    assert result.code == 0
    assert set(server.tokens) == {"Bearer t"}
    assert "model_called" in server.names()


def test_unknown_program_is_bad_input(shell: Shell) -> None:
    result = shell("record", "--", "no-such-program")
    assert result.code == 2
    assert "cannot run no-such-program" in result.err
