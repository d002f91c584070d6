"""Replays in which a runner starts the agent, from the fork to the diff."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenCockpit
from tests.clients.model_server import ANSWER, ModelServer, model_server
from tests.services.server import Server
from tests.support.command_line import COMMAND
from tests.support.gateway_agents import AGENTS, ALLOW_TOOLS
from tests.support.gateway_runs import record, run_of
from tests.support.http import HTTP
from tests.support.patience import patience_ms, patience_s, wait_until

StartRunner = Callable[..., "subprocess.Popen[str]"]
RUN_MS = 60_000
# Asks before a call that the recording does not have.
ASKING_AGENT = """
import os, forkpoint
@forkpoint.tool
def send(city: str) -> str:
    return f"sent to {city}"
print(send(os.environ.get("CITY", "nowhere")), flush=True)
"""


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


@pytest.fixture(scope="module")
def server(models: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server in front of the model server, without the demo."""
    variables = {"FORKPOINT_QUIET_S": "1", "OPENAI_API_KEY": "sk-1", "OPENAI_BASE_URL": f"{models.url}/v1"}
    server = Server(tmp_path_factory.mktemp("server") / "home", "--no-demo", env=variables)
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def run(server: Server) -> str:
    run = run_of(record(server, AGENTS["chat"], "plain"))
    address = f"{server.url}/api/v1/runs/{run}"
    wait_until(lambda: HTTP.get(address, timeout=patience_s(30)).json()["sealed"], 30)
    return run


@pytest.fixture
def start_runner(server: Server, tmp_path: Path) -> Iterator[StartRunner]:
    """Start a runner of the app “desk”."""
    runners: list[subprocess.Popen[str]] = []

    def start(
        program: str = AGENTS["chat"], *more_options: str, allow_tools: Sequence[str] = ALLOW_TOOLS
    ) -> "subprocess.Popen[str]":
        script = tmp_path / "agent.py"
        script.write_text(program)
        variables = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI", "FORKPOINT"))}
        options = ("--app", "desk", "--name", "mine", "--url", server.url, *allow_tools, *more_options)
        command = [*COMMAND, "runner", *options, "--", sys.executable, str(script), "plain"]
        runners.append(subprocess.Popen(command, env=variables, text=True))
        return runners[-1]

    yield start
    for process in runners:
        process.send_signal(signal.SIGTERM)
        process.wait(patience_s(30))


def test_fork_runs_the_agent(open_cockpit: OpenCockpit, run: str, start_runner: StartRunner) -> None:
    cockpit = open_cockpit(f"/runs/{run}?step=1&fork=1")
    page = cockpit.page
    fork = page.get_by_role("region", name="Fork")
    fork.get_by_role("textbox", name="System prompt").fill("Answer in verse.")
    fork.get_by_role("radiogroup", name="What the replay does").get_by_text("Run the agent").click()
    engine = fork.get_by_role("region", name="Engine")
    expect(engine).to_contain_text("No runner of desk is online")
    expect(engine).to_contain_text("get_time: not allowed")
    expect(engine).to_contain_text("forkpoint runner --app desk --url http")
    replay = fork.get_by_role("button", name="Replay")
    expect(replay).to_be_disabled()

    start_runner()
    expect(engine).to_contain_text("mine", timeout=patience_ms(RUN_MS))
    expect(replay).to_be_enabled()
    replay.click()
    output = page.get_by_role("region", name="Output")
    expect(output).to_contain_text(ANSWER, timeout=patience_ms(RUN_MS))
    expect(output).to_contain_text("on mine")
    expect(output).to_contain_text("exit code 0", timeout=patience_ms(RUN_MS))
    page.get_by_role("link", name="What changed?").click(timeout=patience_ms(RUN_MS))
    expect(page.get_by_label("Verdict")).to_be_visible()

    cockpit.go("/settings/runners")
    row = page.get_by_role("row").filter(has_text="mine")
    expect(row).to_contain_text("online")
    expect(row).to_contain_text("0 of 1")


def test_agent_gets_its_variables_and_the_answer_to_its_question(
    open_cockpit: OpenCockpit, run: str, start_runner: StartRunner
) -> None:
    start_runner(ASKING_AGENT, "--env-allow", "CITY", "--ask-tool", "send")
    page = open_cockpit(f"/runs/{run}?step=1&fork=1").page
    fork = page.get_by_role("region", name="Fork")
    fork.get_by_role("textbox", name="System prompt").fill("Answer in verse.")
    fork.get_by_role("radiogroup", name="What the replay does").get_by_text("Run the agent").click()
    city = fork.get_by_role("group", name="Variables").get_by_label("CITY")
    city.fill("Oslo", timeout=patience_ms(RUN_MS))
    fork.get_by_role("button", name="Replay").click()
    question = page.get_by_role("region", name="Your answer is needed")
    expect(question).to_contain_text("send", timeout=patience_ms(RUN_MS))
    expect(question).to_contain_text("Oslo")
    question.get_by_role("textbox", name="Result of send").fill("arrived in Oslo")
    question.get_by_role("button", name="Send answer").click()
    output = page.get_by_role("region", name="Output")
    expect(output).to_contain_text("arrived in Oslo", timeout=patience_ms(RUN_MS))
    expect(output).to_contain_text("exit code 0", timeout=patience_ms(RUN_MS))
    expect(question).not_to_be_visible()


def test_agent_starts_with_consent_to_each_tool_that_nothing_intercepts(
    open_cockpit: OpenCockpit, run: str, start_runner: StartRunner
) -> None:
    start_runner(allow_tools=("--allow-tool", "get_weather"))
    page = open_cockpit(f"/runs/{run}?step=1&fork=1").page
    fork = page.get_by_role("region", name="Fork")
    fork.get_by_role("textbox", name="System prompt").fill("Answer with consent.")
    fork.get_by_role("radiogroup", name="What the replay does").get_by_text("Run the agent").click()
    # The list of runners and the plan are read apart: either may know the runner first.
    expect(fork.get_by_role("region", name="Engine")).to_contain_text("mine", timeout=patience_ms(RUN_MS))
    tools = fork.get_by_role("region", name="Tools that really run")
    replay = fork.get_by_role("button", name="Replay")
    expect(tools).to_contain_text("get_weather: allowed by the user of the runner", timeout=patience_ms(RUN_MS))
    expect(tools).to_contain_text("get_time: not allowed")
    expect(tools).to_contain_text("it lets get_weather, get_time really run in each start")
    expect(tools).to_contain_text("--allow-tool get_weather --allow-tool get_time -- python agent.py {input}")
    command = tools.get_by_label("Command that starts a runner and allows tools")
    expect(command).not_to_be_visible()
    tools.get_by_text("Allow them", exact=True).click()
    expect(command).to_be_visible()
    expect(fork.get_by_role("status")).to_contain_text("Tools of the agent need consent.")
    expect(replay).to_be_disabled()


def test_agent_shows_which_fields_to_ignore(
    open_cockpit: OpenCockpit, server: Server, start_runner: StartRunner
) -> None:
    # A number that no comparison takes for volatile.
    agent = "import random\n" + AGENTS["chat"].replace(
        '"tools": tools, ', '"tools": tools, "nonce": random.randrange(10**9), '
    )
    run = run_of(record(server, agent, "plain"))
    wait_until(lambda: HTTP.get(f"{server.url}/api/v1/runs/{run}", timeout=patience_s(30)).json()["sealed"], 30)
    start_runner(agent)
    wait_until(lambda: "online" in HTTP.get(f"{server.url}/api/v1/runners?app=desk").text, 30)
    page = open_cockpit(f"/runs/{run}").page
    page.get_by_role("button", name=re.compile("^Actions of ")).click()
    page.get_by_role("menuitem", name="Find fields to ignore when matching calls").click()
    # The page of the two starts becomes that of their comparison.
    proposal = page.get_by_role("checkbox", name=re.compile("nonce of every model step"))
    expect(proposal).to_be_visible(timeout=patience_ms(RUN_MS))
