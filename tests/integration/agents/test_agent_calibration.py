"""Calibrations for which a runner starts the agent."""

import json
import subprocess

import pytest

from tests.clients.model_server import ModelServer
from tests.integration.agents.conftest import StartRunner
from tests.services.server import Server
from tests.support.command_line import COMMAND
from tests.support.gateway_agents import AGENTS
from tests.support.gateway_runs import get, record, run_of
from tests.support.http import HTTP
from tests.support.patience import patience_s, wait_until

pytestmark = pytest.mark.own_store
# A number that no comparison takes for volatile.
NONCE_AGENT = "import random\n" + AGENTS["chat"].replace(
    '"tools": tools, ', '"tools": tools, "nonce": random.randrange(10**9), '
)


@pytest.fixture
def nonce_run(server: Server) -> str:
    run = run_of(record(server, NONCE_AGENT, "plain"))
    wait_until(lambda: get(server, f"/runs/{run}")["sealed"], 30)
    return run


def calibrate(server: Server, run: str, *options: str) -> "subprocess.CompletedProcess[str]":
    command = [*COMMAND, "calibrate", run, "--engine", "agent", "--url", server.url, *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=patience_s(90))


def test_runner_starts_the_agent_that_is_calibrated(
    server: Server, models: ModelServer, nonce_run: str, start_runner: StartRunner
) -> None:
    start_runner(NONCE_AGENT, "plain")
    before = len(models.requests)
    result = calibrate(server, nonce_run, "--json")
    assert result.returncode == 0, result.stderr
    calibration = json.loads(result.stdout)["calibration"]
    assert [proposal["rule"]["pointer"] for proposal in calibration["proposals"]] == ["/parameters/nonce"]
    assert nonce_run not in (calibration["base"], calibration["candidate"])
    # No call went to the provider, and the tools that really run were named.
    assert len(models.requests) == before
    assert "the agent really runs them: get_weather, get_time" in result.stderr


def test_calibration_needs_a_runner_with_consent(server: Server, nonce_run: str, start_runner: StartRunner) -> None:
    assert "no runner of desk is online" in calibrate(server, nonce_run).stderr
    start_runner(NONCE_AGENT, "plain", allows_tools=False)
    refusal = HTTP.post(f"{server.url}/api/v1/runs/{nonce_run}/calibrate")
    assert (refusal.status_code, refusal.json()["code"]) == (409, "consent_required")
    assert "--allow-tool get_weather --allow-tool get_time" in refusal.json()["detail"]


def test_agent_without_calls_cannot_be_calibrated(server: Server, nonce_run: str, start_runner: StartRunner) -> None:
    start_runner("raise SystemExit(3)")
    result = calibrate(server, nonce_run)
    assert (result.returncode, "exit code 3 before its first model call" in result.stderr) == (1, True), result.stderr


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["last"], "name one of these: a second recording"),
        (["--", "true"], "name one of these: a second recording"),
        (["--allow-tool", "send"], "--allow-tool and --allow-host are for a program after --"),
    ],
)
def test_contradictory_calibration_is_bad_input(server: Server, words: list[str], problem: str) -> None:
    result = calibrate(server, "last", *words)
    assert (result.returncode, problem in result.stderr) == (2, True), result.stderr
