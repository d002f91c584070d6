"""Tools that record an agent's calls through a proxy, and answer them when the agent runs again."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Final

from tests.clients.environments import ROOT, build_environment
from tests.services.processes import CannotStart, free_port, start, stop
from tests.services.server import Server
from tests.support.command_line import COMMAND
from tests.support.gateway_runs import GatewaySession

_ENVIRONMENTS: Final = ROOT / ".make/peers"
AGENT: Final = (sys.executable, str(Path(__file__).parent / "agent.py"))
_LIMIT_S: Final = 600
# The agent ends with the second one if its answer is wrong.
_EXIT_CODES: Final = (0, 3)


class Tool(ABC):
    """One tool with its own home. `upstream` is the address of the model server, without a path."""

    name: ClassVar[str]

    def __init__(self, home: Path, upstream: str) -> None:
        self.home = home
        self.upstream = upstream
        home.mkdir()

    @abstractmethod
    def record(self, calls: int) -> list[float]:
        """Record a run of the agent; return the milliseconds of each call."""

    @abstractmethod
    def replay(self, calls: int) -> list[float]:
        """Run the agent again, answered from the recording; return the milliseconds of each call."""

    @abstractmethod
    def stored_bytes(self) -> int:
        """Return the bytes that the recording occupies; the tool ends with it."""


class Forkpoint(Tool):
    name = "Forkpoint"

    def __init__(self, home: Path, upstream: str) -> None:
        super().__init__(home, upstream)
        # The time after which a run of the gateway is complete.
        variables = {"FORKPOINT_QUIET_S": "1", "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{upstream}/v1"}
        self.server = Server(home / "store", "--no-demo", env=variables)
        self.server.start()
        self.server.stop()
        self._empty_bytes = _size(self.server.home)
        self.server.start()
        self.run_id = ""

    def record(self, calls: int) -> list[float]:
        result = self._agent("record", "--gateway", "--app", "bench", calls=calls)
        self.run_id = next(line for line in result.stderr.splitlines() if "Recorded: " in line).rpartition("/")[2]
        GatewaySession(self.server, "", self.run_id).summary()
        return _times(result.stdout)

    def replay(self, calls: int) -> list[float]:
        return _times(self._agent("rerun", self.run_id, calls=calls).stdout)

    def stored_bytes(self) -> int:
        self.server.stop()
        return _size(self.server.home) - self._empty_bytes

    def _agent(self, *words: str, calls: int) -> "subprocess.CompletedProcess[str]":
        command = [*COMMAND, *words, "--url", self.server.url, "--", *AGENT, str(calls)]
        return run(command, {"FORKPOINT_HOME": str(self.home / "agent")})


class Timefork(Tool):
    name = "timefork"

    def __init__(self, home: Path, upstream: str) -> None:
        super().__init__(home, upstream)
        self.program = build_environment(_ENVIRONMENTS, self.name, ("timefork==0.3.3",)).parent / "timefork"
        run([self.program, "init"], self.variables, cwd=home)

    @property
    def variables(self) -> dict[str, str]:
        return {"TIMEFORK_UPSTREAM_OPENAI": self.upstream}

    def record(self, calls: int) -> list[float]:
        return _times(run([self.program, "record", "--", *AGENT, str(calls)], self.variables, cwd=self.home).stdout)

    def replay(self, calls: int) -> list[float]:
        words = ["replay", "last", "--on-diverge", "block", "--", *AGENT, str(calls)]
        return _times(run([self.program, *words], self.variables, cwd=self.home).stdout)

    def stored_bytes(self) -> int:
        return _size(self.home)


class Tracefork(Tool):
    """Its proxy, because its recorder replaces the client inside of the agent.

    The proxy does not save its recording at its end while a connection to the provider is open.
    """

    name = "tracefork"
    python: ClassVar[str] = "python3.12"

    def __init__(self, home: Path, upstream: str) -> None:
        super().__init__(home, upstream)
        if shutil.which(self.python) is None:
            raise CannotStart(f"{self.name} needs {self.python} on the PATH")
        environment = build_environment(_ENVIRONMENTS, self.name, ("tracefork==1.0.0",), python=self.python)
        self.program = environment.parent / "tracefork"
        self._tape = home / "run.tape.sqlite"

    def record(self, calls: int) -> list[float]:
        self._tape.unlink(missing_ok=True)
        return self._agent(calls, "record", "--upstream", f"{self.upstream}/closing")

    def replay(self, calls: int) -> list[float]:
        return self._agent(calls, "replay")

    def stored_bytes(self) -> int:
        return _size(self.home, "run.tape*")

    def _agent(self, calls: int, mode: str, *options: str) -> list[float]:
        with self._proxy(mode, *options) as port:
            address = f"http://127.0.0.1:{port}/v1"
            return _times(run([*AGENT, str(calls)], {"OPENAI_BASE_URL": address}).stdout)

    @contextmanager
    def _proxy(self, mode: str, *options: str) -> Iterator[int]:
        port = free_port()
        words = ["proxy", mode, "--tape", str(self._tape), "--port", str(port), *options]
        process = start(
            [self.program, *words],
            is_ready=lambda: _listens(port),
            stop_signal=signal.SIGINT,
            log=self.home / f"{mode}.log",
        )
        try:
            yield port
        finally:
            stop(process, signal.SIGINT)


TOOLS: Final[tuple[type[Tool], ...]] = (Forkpoint, Timefork, Tracefork)


def call_directly(upstream: str, calls: int) -> list[float]:
    """Run the agent without a tool; return the milliseconds of each call."""
    return _times(run([*AGENT, str(calls)], {"OPENAI_BASE_URL": f"{upstream}/v1"}).stdout)


def run(
    command: Sequence[str | Path], variables: dict[str, str], *, cwd: Path = ROOT
) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "OPENAI_API_KEY": "none", "NO_PROXY": "127.0.0.1", **variables}
    result = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=_LIMIT_S, check=False
    )
    if result.returncode not in _EXIT_CODES:
        raise CannotStart(f"{command[0]} ended with {result.returncode}: {result.stdout[-500:]}{result.stderr[-2000:]}")
    return result


def _times(output: str) -> list[float]:
    """Read the agent's line among what a tool prints."""
    line = next(line for line in reversed(output.splitlines()) if line.startswith("["))
    return [float(value) for value in json.loads(line)]


def _size(folder: Path, pattern: str = "*") -> int:
    return sum(path.stat().st_size for path in folder.rglob(pattern) if path.is_file())


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
