"""The documentation's commands that run an agent work, with small agents in place of those of the frameworks.

They run in processes of their own, against one server. The commands of coding agents are left out.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.clients.model_server import model_server
from tests.services.server import Server
from tests.services.warm_start import FORKPOINT, WarmProcess
from tests.support.gateway_agents import REQUESTS
from tests.support.gateway_runs import run_warm
from tests.support.http import HTTP
from tests.support.patience import wait_until

pytestmark = pytest.mark.own_store
ROOT = Path(__file__).parents[3]
_CODE_BLOCK = re.compile(r"^```\w*\n(.*?)^```$", re.M | re.S)
_AGENT_COMMANDS = ("record", "rerun", "runner", "ci", "calibrate", "bundle")
# They have to be installed, and log in.
_CODING_AGENTS = frozenset({"claude", "codex"})
_PYTHON_AGENT = f"""{REQUESTS}
import forkpoint
@forkpoint.tool
def get_weather(city):
    return "fine"
@forkpoint.tool
def get_time(city):
    return "noon"
tools = {{"get_weather": get_weather, "get_time": get_time}}
schemas = [{{"type": "function", "function": {{"name": name, "parameters": {{"type": "object"}}}}}} for name in tools]
messages = [{{"role": "user", "content": sys.argv[1] if len(sys.argv) > 1 else "Weather and time?"}}]
while True:
    answer = ask_openai("chat/completions", {{"model": "m1", "messages": messages, "tools": schemas}})
    message = answer["choices"][0]["message"]
    messages.append({{name: value for name, value in message.items() if value is not None}})
    if not message.get("tool_calls"):
        break
    for call in message["tool_calls"]:
        result = tools[call["function"]["name"]](**json.loads(call["function"]["arguments"]))
        messages.append({{"role": "tool", "tool_call_id": call["id"], "content": result}})
print(message["content"])
"""
_NODE_AGENT = """
const body = { model: "m1", messages: [{ role: "user", content: "Weather and time?" }] };
const headers = { "content-type": "application/json", authorization: `Bearer ${process.env.OPENAI_API_KEY}` };
fetch(`${process.env.OPENAI_BASE_URL}/chat/completions`, { method: "POST", headers, body: JSON.stringify(body) })
  .then((response) => response.json())
  .then((answer) => console.log(answer.choices[0].message.content));
"""


def commands(page: str) -> list[list[str]]:
    """Return the different commands of a page that run an agent or use a run, in order."""
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    lines = [line for block in _CODE_BLOCK.findall(text) for line in block.splitlines()]
    found = [shlex.split(line) for line in lines if line.startswith("forkpoint ")]
    used = [words for words in found if words[1] in _AGENT_COMMANDS and not _CODING_AGENTS & {*words}]
    return [words for index, words in enumerate(used) if words not in used[:index] and "again.json" not in words]


@dataclass(frozen=True)
class Desk:
    """A folder with the agents of the documentation, and a run of each program that stands for `RUN`."""

    server: Server
    folder: Path
    runs: dict[str, str]

    @property
    def environment(self) -> dict[str, str]:
        names = ("OPENAI", "ANTHROPIC", "GEMINI", "GOOGLE", "FORKPOINT")
        variables = {name: value for name, value in os.environ.items() if not name.startswith(names)}
        variables |= {"FORKPOINT_HOME": str(self.folder / "home"), "FORKPOINT_URL": self.server.url}
        # A key of the agent's own, as the pages say.
        return {**variables, "OPENAI_API_KEY": "key"}

    def words(self, words: list[str]) -> list[str]:
        """Return a command of the documentation as it runs here."""
        program = next((word for word in words if word in ("node", "python")), "python")
        names = {
            "RUN": self.runs.get(program, ""),
            "http://127.0.0.1:8700": self.server.url,
            "python": sys.executable,
            "order-desk": "desk",
        }
        own_words = [names.get(word, word) for word in words[1:]]
        if "node" in own_words:
            own_words.insert(own_words.index("node"), str(ROOT / "scripts/with-node"))
        return [FORKPOINT, *own_words]

    def run(self, words: list[str]) -> "subprocess.CompletedProcess[str]":
        return run_warm(self.words(words), cwd=self.folder, env=self.environment)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("desk")
    for name, program in (("agent.py", _PYTHON_AGENT), ("crew.py", _PYTHON_AGENT), ("agent.js", _NODE_AGENT)):
        (folder / name).write_text(program)
    (folder / "runs").mkdir()
    with model_server() as models:
        variables = {"FORKPOINT_QUIET_S": "1", "OPENAI_API_KEY": "key", "OPENAI_BASE_URL": f"{models.url}/v1"}
        server = Server(folder / "server", "--no-demo", env=variables)
        server.start()
        desk = Desk(server, folder, {})
        for program, script in (("python", "agent.py"), ("node", "agent.js")):
            desk.runs[program] = _record(desk, program, script)
        yield desk
        server.stop()


def _record(desk: Desk, program: str, script: str) -> str:
    result = desk.run(["forkpoint", "record", "--gateway", "--app", "desk", "--", program, script])
    assert "Recorded: " in result.stderr, result.stderr
    run = result.stderr.strip().rpartition("/")[2]
    wait_until(lambda: HTTP.get(f"{desk.server.url}/api/v1/runs/{run}").json().get("sealed"), 30)
    return run


@pytest.fixture
def runner(desk: Desk) -> Iterator[None]:
    """Start the runner of the documentation, which waits for forks."""
    words = desk.words(["forkpoint", "runner", "--app", "desk", "--", "python", "agent.py", "{input}"])
    with WarmProcess(words, cwd=desk.folder, env=desk.environment, stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: _online_count(desk) == 1, 30)
        yield
        process.send_signal(signal.SIGTERM)
    wait_until(lambda: _online_count(desk) == 0, 30)


def _online_count(desk: Desk) -> int:
    runners = HTTP.get(f"{desk.server.url}/api/v1/runners?app=desk").json()["runners"]
    return sum(runner["state"] == "online" for runner in runners)


@pytest.mark.parametrize("page", ["frameworks", "rerun", "calibrate"])
def test_commands_that_run_an_agent_work(desk: Desk, runner: None, page: str) -> None:
    lines = commands(page)
    assert lines
    for words in lines:
        if words[1] == "runner":
            _start_and_stop(desk, words)
            continue
        result = desk.run(words)
        assert result.returncode == 0, f"{shlex.join(words)}\n{result.stdout}\n{result.stderr}"


def _start_and_stop(desk: Desk, words: list[str]) -> None:
    """Start a runner beside that of the fixture, and stop it once it waits for forks."""
    command = desk.words(words)
    with WarmProcess(command, cwd=desk.folder, env=desk.environment, stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: _online_count(desk) == 2, 30)
        process.send_signal(signal.SIGTERM)
    wait_until(lambda: _online_count(desk) == 1, 30)
