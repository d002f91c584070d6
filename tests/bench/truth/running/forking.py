"""Record an agent through the gateway, and fork its run: by following the recording, and by running the agent."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.bench.truth.running import wire
from tests.bench.truth.runtime import Changes
from tests.bench.truth.statements import IMPLICIT_TOOLS
from tests.services.server import Server
from tests.services.warm_start import FORKPOINT
from tests.support.gateway_runs import GatewaySession, get, run_warm
from tests.support.http import HTTP
from tests.support.patience import wait_until
from tests.support.servers.provider_server import Exchange, provider_server

_ROOT: Final = Path(__file__).parents[4]
_TOOLS: Final = ("get_order", "convert", "save_note", "read_note", "flaky", "consult", *sorted(IMPLICIT_TOOLS))
_FINAL: Final = ("completed", "failed", "cancelled")


@dataclass
class Bench:
    """A server, its provider, and how many calls have reached this."""

    server: Server
    home: Path
    # Of the programs.
    kind: str = "patterns"
    calls: list[str] = field(default_factory=list)

    def run(self, words: Sequence[str], seed: str, mode: str) -> "subprocess.CompletedProcess[str]":
        """Run the agent under a command."""
        agent = (sys.executable, "-m", "tests.bench.truth.running.agent", seed, mode, self.kind)
        command = [FORKPOINT, *words, "--url", self.server.url, "--", *agent]
        environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(_ROOT), "FORKPOINT_HOME": str(self.home / "agent")}
        return run_warm(command, env={**environment, "NO_PROXY": "127.0.0.1", "OPENAI_API_KEY": "none"}, cwd=_ROOT)

    def record(self, seed: str, mode: str) -> str:
        """Record the agent; return its run."""
        result = self.run(["record", "--gateway", "--app", f"truth-{seed}"], seed, mode)
        if result.returncode or "Recorded: " not in result.stderr:
            raise AssertionError(result.stderr[-2000:])
        run = result.stderr.strip().rpartition("/")[2]
        wait_until(lambda: get(self.server, f"/runs/{run}")["sealed"], 30)
        return run

    def steps(self, run: str) -> list[Any]:
        return list(get(self.server, f"/runs/{run}/full-steps?limit=500")["steps"])

    def preview(self, request: Mapping[str, Any]) -> Any:
        return HTTP.post(f"{self.server.url}/api/v1/replays/preview", json=request, timeout=60).json()

    def follow(self, request: Mapping[str, Any]) -> Any:
        """Replay by following the recording; return the session, or the refusal."""
        session = HTTP.post(f"{self.server.url}/api/v1/replays", json=request, timeout=60).json()
        if "id" not in session:
            return session
        path = f"/replays/{session['id']}"

        def end() -> Any:
            view = get(self.server, path)
            return view if view["status"].startswith((*_FINAL, "awaiting")) else None

        return wait_until(end, 60)

    def rerun(self, run: str, fork: int, entries: Sequence[Any], seed: str, mode: str) -> tuple[str, str]:
        """Fork with the agent; return the forked run ("" if it is refused) and what the command printed."""
        with tempfile.NamedTemporaryFile("w", suffix=".json", dir=self.home) as file:
            json.dump({"overrides": [*entries]}, file)
            file.flush()
            consent = [word for name in _TOOLS for word in ("--allow-tool", name)]
            words = ["rerun", run, "--overrides", file.name, "--from", str(fork), "--live", *consent]
            result = self.run(words, seed, mode)
        lines = [line for line in result.stderr.splitlines() if line.startswith("Fork: ")]
        if not lines:
            return "", result.stderr
        forked_run = lines[0].rpartition("/")[2]
        GatewaySession(self.server, "", forked_run).summary()
        return forked_run, result.stderr


@contextmanager
def running_bench(home: Path, kind: str = "patterns") -> Iterator[Bench]:
    calls: list[str] = []

    def respond(exchange: Exchange) -> None:
        calls.append(exchange.path)
        if exchange.body.get("stream"):
            exchange.stream()
            for chunk in wire.chunks(exchange.body):
                exchange.send(chunk)
            exchange.send("[DONE]")
        else:
            exchange.status(200, wire.completion(exchange.body))

    with provider_server(respond) as provider:
        variables = {"FORKPOINT_QUIET_S": "1", "OPENAI_API_KEY": "sk-1", "OPENAI_BASE_URL": f"{provider.base_url}/v1"}
        server = Server(home / "home", "--no-demo", env=variables)
        server.start()
        try:
            yield Bench(server, home, kind, calls)
        finally:
            server.stop()


def overrides(changes: Changes, numbers: Mapping[str, int]) -> list[Any]:
    return [{"match": {"step": numbers[key]}, **change} for key, change in changes.items()]
