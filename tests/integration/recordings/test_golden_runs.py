"""Agents that run against a recording: `forkpoint ci` fails on differences, and `forkpoint calibrate` ignores some."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.clients.model_server import ANSWER, ModelServer, model_server
from tests.services.server import Server
from tests.support.command_line import COMMAND
from tests.support.gateway_agents import AGENTS, ALLOW_TOOLS
from tests.support.gateway_runs import record, run_of
from tests.support.http import HTTP
from tests.support.patience import patience_s, wait_until

pytestmark = pytest.mark.own_store
AGENT = AGENTS["chat"].replace('"Weather and time?"', "sys.argv[2]")
CHANGED_AGENT = AGENT.replace("messages = [", 'messages = [{"role": "system", "content": "Be brief."}, ')
# A number that no comparison takes for volatile.
NONCE_AGENT = "import random\n" + AGENT.replace(
    '"tools": tools, ', '"tools": tools, "nonce": random.randrange(10**9), '
)
CHECKED_AGENT = (
    AGENT
    + """
from forkpoint import recorder
for place in range(2):
    with recorder.validator("style") as check:
        check.decide(place == 0 or WORD in answer["choices"][0]["message"]["content"], "it needs the word")
"""
)
NAMES = ("OPENAI", "ANTHROPIC", "GEMINI", "GOOGLE", "FORKPOINT", "GITHUB")


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


@pytest.fixture(scope="module")
def server(models: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    variables = {"FORKPOINT_QUIET_S": "1", "OPENAI_API_KEY": "sk-1", "OPENAI_BASE_URL": f"{models.url}/v1"}
    server = Server(tmp_path_factory.mktemp("server") / "home", "--no-demo", env=variables)
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def golden(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one golden run."""
    run = run_of(record(server, AGENT, "plain", "Weather and time?"))
    folder = tmp_path_factory.mktemp("golden")

    def bundle() -> bytes | None:
        """Return the bundle as soon as the run is complete."""
        export = f"{server.url}/api/v1/bundles/export"
        response = HTTP.post(export, json={"run": run}, timeout=patience_s(60))
        return response.content if response.status_code == 200 else None

    (folder / "weather.zip").write_bytes(wait_until(bundle, 30))
    (folder / "README.md").write_text("# Golden runs\nRecorded in May.\n")
    return folder


def ci(golden: Path, agent: str, *options: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    return forkpoint("ci", "--golden", str(golden), *options, agent=agent, **variables)


def forkpoint(*words: str, agent: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    environment = {name: value for name, value in os.environ.items() if not name.startswith(NAMES)}
    program = [sys.executable, "-c", agent, "plain", "{input}"]
    return subprocess.run(
        [*COMMAND, *words, *ALLOW_TOOLS, "--", *program],
        env={**environment, "NO_PROXY": "127.0.0.1", **variables},
        capture_output=True,
        text=True,
        timeout=patience_s(120),
        check=False,
    )


def test_difference_fails_until_it_is_accepted(
    server: Server, models: ModelServer, golden: Path, tmp_path: Path
) -> None:
    options, home = ["--url", server.url], {"FORKPOINT_HOME": str(tmp_path / "home")}
    before = len(models.requests)
    result = ci(golden, AGENT, *options, **home)
    assert (result.returncode, result.stdout) == (0, f"● {golden}/weather.zip: same\n"), result.stderr
    reports = ["--junit", str(tmp_path / "junit.xml"), "--reports", str(tmp_path / "pages")]
    change = ci(golden, CHANGED_AGENT, *options, *reports, GITHUB_ACTIONS="true", **home)
    assert (change.returncode, len(models.requests)) == (5, before), change.stderr
    assert "first difference, from step 1 at /messages/0" in change.stdout
    annotation = f"::error file={golden}/weather.zip,title=Golden run::the agent differs from step 1 at /messages/0"
    assert f"{annotation}" in change.stdout
    # GitHub obeys no line of a recorded text.
    first, *_, last, _ = change.stdout.splitlines()
    assert first.startswith("::stop-commands::")
    assert last == f"::{first.removeprefix('::stop-commands::')}::"
    [diff] = {line.removeprefix("  diff: ") for line in change.stdout.splitlines() if line.startswith("  diff: ")}
    report = HTTP.get(diff.replace("/diffs/", "/api/v1/diffs/")).json()
    [page] = (tmp_path / "pages").iterdir()
    assert (report["base"]["status"], report["candidate"]["status"]) == ("completed", "failed")
    assert report["id"] in page.name
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", "1", "0")
    assert "/messages/0" in str(suite[0][0].get("message"))
    accepted = ci(golden, CHANGED_AGENT, *options, "--accept", **home)
    assert (accepted.returncode, len(models.requests)) == (0, before + 3), accepted.stderr
    assert f"{golden}/weather.zip: updated" in accepted.stdout
    assert ANSWER in accepted.stderr
    document = ci(golden, CHANGED_AGENT, *options, "--json", **home)
    [entry] = json.loads(document.stdout)["golden"]
    assert (document.returncode, entry["verdict"], entry["report"]["exact"]) == (0, "same", 3), document.stderr
    assert len(models.requests) == before + 3


def test_check_that_decides_differently_fails(server: Server, models: ModelServer, tmp_path: Path) -> None:
    agents = {word: f"WORD = {word!r}\n{CHECKED_AGENT}" for word in ("noon", "midnight")}
    run, home = run_of(record(server, agents["noon"], "plain", "Weather and time?")), {"FORKPOINT_HOME": str(tmp_path)}
    path = export(server, run, tmp_path)
    same = ci(path, agents["noon"], "--url", server.url, **home)
    assert (same.returncode, same.stdout) == (0, f"● {path}: same\n"), same.stderr
    change = ci(path, agents["midnight"], "--url", server.url, "--json", **home)
    [entry] = json.loads(change.stdout)["golden"]
    steps = HTTP.get(f"{server.url}/api/v1/runs/{run}/full-steps").json()["steps"]
    last_check = [step["sequence_no"] for step in steps if step["type"] == "validator"][-1]
    assert (change.returncode, entry["verdict"], entry["report"]["changed_checks"]) == (5, "changed", [last_check])
    assert (entry["report"]["exact"], entry["diff"] is None) == (3, False)


def test_failed_golden_run_fails_in_the_same_way(server: Server, models: ModelServer, tmp_path: Path) -> None:
    """Its agent is meant to fail, but not to crash."""
    agents = {code: f"{AGENT}\nraise SystemExit({code})" for code in (3, 1, 0)}
    home = {"FORKPOINT_HOME": str(tmp_path)}
    path = export(server, run_of(record(server, agents[3], "plain", "Weather and time?")), tmp_path)
    same = ci(path, agents[3], "--url", server.url, **home)
    assert (same.returncode, same.stdout) == (0, f"● {path}: same\n"), same.stderr
    for code in (1, 0):
        change = ci(path, agents[code], "--url", server.url, **home)
        assert change.returncode == 5
        assert f"the agent ended with exit code {code}, in the recording with 3" in change.stdout


def export(server: Server, run: str, folder: Path) -> Path:
    """Write the bundle of a run as soon as it is complete."""
    wait_until(lambda: HTTP.get(f"{server.url}/api/v1/runs/{run}").json().get("sealed"), 30)
    bundle = HTTP.post(f"{server.url}/api/v1/bundles/export", json={"run": run}, timeout=patience_s(60))
    path = folder / "golden.zip"
    path.write_bytes(bundle.content)
    return path


def test_golden_run_is_replayed_without_a_server(golden: Path, models: ModelServer, tmp_path: Path) -> None:
    before = len(models.requests)
    folder = tmp_path / "golden"
    shutil.copytree(golden, folder)
    (folder / "unfetched.zip").write_text("version https://git-lfs.github.com/spec/v1\n")
    result = ci(folder, "raise SystemExit(3)", FORKPOINT_HOME=str(tmp_path / "home"))
    assert f"{folder}/unfetched.zip: error" in result.stdout
    assert f"{folder}/README.md: passed over" in result.stderr
    assert (result.returncode, len(models.requests)) == (5, before), result.stderr
    assert "recorded calls that were not made: steps 1, 4, 6" in result.stdout
    assert "the agent ended with exit code 3" in result.stdout


def test_calibration_with_an_agent_lets_its_calls_match(server: Server, models: ModelServer, tmp_path: Path) -> None:
    run = run_of(record(server, NONCE_AGENT, "plain", "Weather and time?"))
    before, words = len(models.requests), [run, "--url", server.url]
    home = {"FORKPOINT_HOME": str(tmp_path / "home")}
    result = forkpoint("calibrate", *words, "--accept", "recommended", "--json", agent=NONCE_AGENT, **home)
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    assert [rule["pointer"] for rule in document["accepted"]["rules"]] == ["/parameters/nonce"]

    def is_ready() -> bool:
        lists = HTTP.get(f"{server.url}/api/v1/ignore-lists").json()["lists"]
        return any(entry["ready_at"] for entry in lists)

    wait_until(is_ready, 30)
    again = forkpoint("rerun", *words, agent=NONCE_AGENT, **home)
    assert (again.returncode, again.stdout.strip(), len(models.requests)) == (0, ANSWER, before), again.stderr
    assert "0 calls exact, 3 cached" in again.stderr
