"""The place where an agent works: commands that run it, and what they leave behind."""

import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.agents.catalogue import Agent
from tests.clients.model_server import ModelServer
from tests.services.server import Server
from tests.support.command_line import COMMAND
from tests.support.gateway_agents import ALLOW_TOOLS
from tests.support.http import HTTP
from tests.support.patience import patience_s, wait_until

_REMOVED = ("OPENAI", "ANTHROPIC", "GEMINI", "GOOGLE", "FORKPOINT", "DESK_", "XDG_")


@dataclass(frozen=True)
class Outcome:
    """What a command printed, the requests that reached the model server, and the tools that really ran."""

    code: int
    out: str
    err: str
    requests: list[dict[str, Any]]
    executions: list[str]

    def id(self, label: str) -> str:
        """Return the id at the end of the address that the command printed with this label."""
        lines = [line for line in self.err.splitlines() if line.startswith(f"{label}: ")]
        assert len(lines) == 1, self.err
        return lines[0].rpartition("/")[2]

    @property
    def rerun(self) -> str:
        assert "--resume " in self.err, self.err
        return self.err.partition("--resume ")[2].split()[0]


@dataclass(frozen=True)
class Desk:
    """An agent, with the servers that it and its commands use."""

    agent: Agent
    command: list[str]
    server: Server
    models: ModelServer
    folder: Path

    def record(self, app: str = "desk") -> tuple[str, Outcome]:
        """Record the agent through the gateway; return its run once that is complete."""
        outcome = self.run("record", "--gateway", "--app", app)
        assert outcome.code == 0, outcome.err
        run = outcome.id("Recorded")
        wait_until(lambda: self.get(f"/runs/{run}").get("sealed"), 30)
        return run, outcome

    def run(self, *words: str, on_start: Callable[[int], None] = lambda pid: None, consents: bool = True) -> Outcome:
        """Run the agent by a command; `on_start` gets the id of the command's process. It `consents` to tools."""
        log = self.folder / "executions"
        log.write_text("")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(_REMOVED)}
        # CrewAI and others write into the user's home.
        environment |= {"HOME": str(self.folder), "FORKPOINT_HOME": str(self.folder / "home")}
        environment |= {"NO_PROXY": "127.0.0.1", "DESK_LOG": str(log)}
        before = len(self.models.requests)
        process = subprocess.Popen(
            [
                *COMMAND,
                *words,
                *(self._consent(words) if consents else ()),
                "--url",
                self.server.url,
                "--",
                *self.command,
            ],
            # Claude Code sends the state of the repository around it, which must not change during a test.
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        on_start(process.pid)
        out, err = process.communicate(timeout=patience_s(120))
        requests = [body for _, body in self.models.requests[before:]]
        return Outcome(process.returncode, out.strip(), err, requests, log.read_text().split())

    def _consent(self, words: Sequence[str]) -> Sequence[str]:
        """Return the options that let tools run which nothing intercepts. A rerun that goes on has its consent."""
        is_plain = words[0] == "rerun" and "--resume" not in words and not self.agent.has_known_tools
        return ALLOW_TOOLS if is_plain else ()

    def run_and_kill(self, place: int, *words: str) -> Outcome:
        """Run the agent by a command, and kill it while its call at this place is open."""
        last = len(self.models.requests) + place

        def kill_at_arrival(pid: int) -> None:
            def kill(number: int) -> None:
                if number == last:
                    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
                    for child in children:
                        os.kill(int(child), signal.SIGKILL)

            self.models.on_arrival = kill

        try:
            return self.run(*words, on_start=kill_at_arrival)
        finally:
            self.models.on_arrival = lambda number: None

    def get(self, path: str) -> Any:
        response = HTTP.get(f"{self.server.url}/api/v1{path}", timeout=patience_s(30))
        return response.json()

    def steps(self, run: str) -> list[Any]:
        return list(self.get(f"/runs/{run}/full-steps")["steps"])
