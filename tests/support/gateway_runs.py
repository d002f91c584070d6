"""Agents that are recorded through the gateway of a server, and run again."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import httpx2

from tests.services.server import Server
from tests.services.warm_start import FORKPOINT, WarmProcess
from tests.support.gateway_agents import ALLOW_TOOLS
from tests.support.http import HTTP
from tests.support.patience import patience_s, wait_until

# Its addresses alone intercept no tool.
_SDK_IMPORT = re.compile(r"\bfrom forkpoint\b|\bforkpoint\.(?!base_url\b)")
Python = Sequence[str]
PYTHON: Python = (sys.executable,)
# Type, label and reason of a step in a fork.
LIVE = ("model", "simulated", "live_model_call")
CACHED = ("model", "cached", "cache_hit_signature_match")
EXACT = ("model", "exact", "source_output_reused")
ANSWERED_TOOL = ("tool", "exact", "source_output_reused")
SAME_TOOL = ("tool", "exact", "agent_ran")
TOOL = ("tool", "simulated", "agent_ran")


@dataclass(frozen=True)
class GatewaySession:
    """An open session: its base address, its run, and the server."""

    server: Server
    url: str
    id: str

    def post(self, path: str, body: Any, **headers: str) -> httpx2.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        address = self.url + path
        return HTTP.post(address, content=content, headers=headers, timeout=patience_s(60))

    def summary(self) -> Any:
        """Wait until the run has ended."""
        path = f"{self.server.url}/api/v1/runs/{self.id}"

        def summary() -> Any:
            response = HTTP.get(path, timeout=patience_s(10))
            return response.json() if response.status_code == 200 and response.json()["status"] != "running" else None

        return wait_until(summary, 30)

    def steps(self, count: int) -> list[Any]:
        """Wait until all steps have arrived and ended."""
        path = f"{self.server.url}/api/v1/runs/{self.id}/full-steps"

        def steps() -> Any:
            response = HTTP.get(path, timeout=patience_s(10))
            items = response.json().get("steps", []) if response.status_code == 200 else []
            return items if len(items) >= count and all(item["status"] != "partial" for item in items) else None

        return list(wait_until(steps, 30))


def record(
    server: Server, program: str, *arguments: str, python: Python = PYTHON
) -> "subprocess.CompletedProcess[str]":
    return run_agent(server, ["record", "--gateway", "--app", "desk"], program, *arguments, python=python)


def rerun(
    server: Server, run: str, program: str, *arguments: str, options: Sequence[str] = (), python: Python = PYTHON
) -> "subprocess.CompletedProcess[str]":
    """Run a program again, with consent to the tools of `AGENTS` unless the SDK intercepts them."""
    GatewaySession(server, "", run).summary()
    is_plain = python is PYTHON and not _SDK_IMPORT.search(program)
    consent = ALLOW_TOOLS if is_plain else ()
    return run_agent(server, ["rerun", run, *consent, *options], program, *arguments, python=python)


def run_agent(
    server: Server, words: list[str], program: str, *arguments: str, python: Python = PYTHON, **variables: str
) -> "subprocess.CompletedProcess[str]":
    names = ("OPENAI", "ANTHROPIC", "GEMINI", "GOOGLE", "FORKPOINT")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(names)}
    command = [FORKPOINT, *words, "--url", server.url, "--", *python, "-c", program, *arguments]
    variables = {
        **environment,
        **variables,
        "NO_PROXY": "127.0.0.1",
        "FORKPOINT_HOME": str(server.home.parent / "agent"),
    }
    return run_warm(command, env=variables)


def run_warm(command: list[str], **options: Any) -> "subprocess.CompletedProcess[str]":
    """Run a command in a warm process to its end; its output is text."""
    pipe = subprocess.PIPE
    with WarmProcess(command, stdout=pipe, stderr=pipe, text=True, **options) as process:
        try:
            out, err = process.communicate(timeout=patience_s(90))
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def run_of(result: "subprocess.CompletedProcess[str]") -> str:
    assert "Recorded: " in result.stderr, result.stderr
    return result.stderr.strip().rpartition("/")[2]


def fork_of(server: Server, result: "subprocess.CompletedProcess[str]") -> tuple[GatewaySession, str]:
    """Return the run of a fork, and its diff, as the command prints them."""
    *_, run, diff = result.stderr.strip().splitlines()
    assert (run.startswith("Fork: "), diff.startswith("Diff: ")) == (True, True), result.stderr
    return GatewaySession(server, "", run.rpartition("/")[2]), diff.rpartition("/")[2]


def labels(steps: list[Any]) -> list[tuple[str, str, str]]:
    return [(step["type"], step["label"], step["reason"]) for step in steps]


def get(server: Server, path: str) -> Any:
    response = HTTP.get(f"{server.url}/api/v1{path}", timeout=patience_s(30))
    assert response.status_code == 200, response.text
    return response.json()


def post(server: Server, path: str, body: Any) -> Any:
    response = HTTP.post(server.url + path, json=body, timeout=patience_s(60))
    assert response.is_success, response.text
    return response.json()
