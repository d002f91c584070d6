"""A plain loop that sends mail: nothing intercepts its tool, so no command starts it without consent."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.model_server import ANSWER, model_server
from tests.services.server import Server
from tests.support.command_line import COMMAND
from tests.support.gateway_agents import AGENTS, ALLOW_TOOLS
from tests.support.gateway_runs import GatewaySession, record, rerun, run_of
from tests.support.http import HTTP
from tests.support.patience import patience_s, wait_until

pytestmark = pytest.mark.own_store
# Its tools, each call of which adds a line to the file that the last argument names.
AGENT = AGENTS["chat"].replace(
    "    messages +=",
    "    with open(sys.argv[-1], 'a') as file:\n"
    "        file.writelines(call['function']['name'] + '\\n' for call in message['tool_calls'])\n"
    "    messages +=",
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with model_server() as models:
        variables = {"FORKPOINT_QUIET_S": "1", "OPENAI_API_KEY": "sk-1", "OPENAI_BASE_URL": f"{models.url}/v1"}
        server = Server(tmp_path_factory.mktemp("server") / "home", "--no-demo", env=variables)
        server.start()
        yield server
        server.stop()


@pytest.fixture(scope="module")
def run(server: Server) -> str:
    run = run_of(record(server, AGENT, "plain", os.devnull))
    wait_until(lambda: GatewaySession(server, "", run).summary()["sealed"], 30)
    return run


@pytest.fixture
def golden(server: Server, run: str, tmp_path: Path) -> Path:
    response = HTTP.post(f"{server.url}/api/v1/bundles/export", json={"run": run}, timeout=patience_s(60))
    (tmp_path / "golden.zip").write_bytes(response.content)
    return tmp_path / "golden.zip"


@pytest.mark.parametrize("command", ["rerun", "fork", "ci", "calibrate"])
def test_no_command_runs_a_tool_that_nobody_allowed(
    server: Server, run: str, golden: Path, tmp_path: Path, command: str
) -> None:
    words = {
        "rerun": ["rerun", run],
        "fork": ["rerun", run, "--set-prompt", "Answer in verse.", "--live"],
        "ci": ["ci", "--golden", str(golden)],
        "calibrate": ["calibrate", run],
    }[command]
    calls = tmp_path / "calls"

    def start(*options: str) -> "subprocess.CompletedProcess[str]":
        names = ("OPENAI", "FORKPOINT")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(names)}
        program = [sys.executable, "-c", AGENT, "plain", str(calls)]
        return subprocess.run(
            [*COMMAND, *words, "--url", server.url, *options, "--", *program],
            env={**environment, "NO_PROXY": "127.0.0.1", "FORKPOINT_HOME": str(tmp_path / "home")},
            capture_output=True,
            text=True,
            timeout=patience_s(120),
            check=False,
        )

    refusal = start("--allow-tool", "get_time")
    # In `ci`, it is the result of the golden run.
    assert refusal.returncode == (5 if command == "ci" else 2), refusal.stderr
    assert "really runs them again: get_weather. Allow each by name: --allow-tool get_weather" in (
        " ".join((refusal.stderr + refusal.stdout).split())
    )
    assert not calls.exists()
    consent = start(*ALLOW_TOOLS)
    assert consent.returncode == 0, consent.stderr
    assert "so the agent really runs them: get_weather, get_time" in consent.stderr
    assert calls.read_text().split()[:3] == ["get_weather", "get_time", "get_weather"]
    assert command != "fork" or ANSWER in consent.stdout


def test_intercepted_tool_of_the_same_name_gives_no_consent(server: Server, tmp_path: Path) -> None:
    agent = AGENT.replace(
        "while True:",
        "import forkpoint\n"
        "@forkpoint.tool\ndef get_weather(city): return 'fine'\n"
        "@forkpoint.tool\ndef get_time(city): return 'fine'\n"
        "while True:",
    ).replace(
        "    with open(sys.argv[-1], 'a') as file:\n"
        "        file.writelines(call['function']['name'] + '\\n' for call in message['tool_calls'])\n",
        "    for call in message['tool_calls']:\n"
        "        if 'Lima' in call['function']['arguments']:\n"
        "            with open(sys.argv[-1], 'a') as file: file.write('get_weather\\n')\n"
        "        else:\n"
        "            globals()[call['function']['name']](**json.loads(call['function']['arguments']))\n",
    )
    calls = tmp_path / "calls"
    mixed_run = run_of(record(server, agent, "plain", str(calls)))
    wait_until(lambda: GatewaySession(server, "", mixed_run).summary()["sealed"], 30)
    assert calls.read_text() == "get_weather\n"
    refusal = rerun(server, mixed_run, agent, "plain", str(calls))
    assert refusal.returncode == 2, refusal.stderr
    assert "really runs them again: get_weather." in " ".join(refusal.stderr.split())
    assert calls.read_text() == "get_weather\n"
    consent = rerun(server, mixed_run, agent, "plain", str(calls), options=["--allow-tool", "get_weather"])
    assert consent.returncode == 0, consent.stderr
    assert calls.read_text() == "get_weather\n" * 2
