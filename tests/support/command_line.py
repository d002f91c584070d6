"""The command `forkpoint`, run as from a script."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.services.warm_start import FORKPOINT, WarmProcess
from tests.support.patience import patience_s

COMMAND = [sys.executable, "-c", FORKPOINT]


@dataclass(frozen=True)
class CommandResult:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


# Starting Python and Django takes longer than most commands, so one process runs many.
COMMAND_LOOP = """
import contextlib, io, json, sys, traceback
from cockpit.cli import main
for line in sys.stdin:
    request = json.loads(line)
    out, err, code = io.StringIO(), io.StringIO(), 0
    sys.argv, stdin = ["forkpoint", *request["arguments"]], sys.stdin
    sys.stdin = io.StringIO(request["input"])
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        except Exception:
            code = 1
            traceback.print_exc()
    sys.stdin = stdin
    print(json.dumps([code, out.getvalue(), err.getvalue()]), flush=True)
"""


class WarmShell:
    """One process that runs commands one after the other, each as a new command."""

    def __init__(self, shell: "Shell") -> None:
        self.shell = shell
        self._process = WarmProcess(
            [COMMAND_LOOP],
            env=shell.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *arguments: str | Path, input: str = "", **environment: str) -> CommandResult:
        if environment:
            return self.shell(*arguments, input=input, **environment)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {"arguments": [str(argument) for argument in arguments], "input": input}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return CommandResult(*json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait(patience_s(30))


@dataclass(frozen=True)
class Shell:
    """Runs each command in its own process."""

    home: Path

    @property
    def environment(self) -> dict[str, str]:
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(("FORKPOINT_", "COVERAGE"))}
        inherited = {key: value for key, value in inherited.items() if key not in {"DATABASE_URL", "REDIS_URL"}}
        return {**inherited, "FORKPOINT_HOME": str(self.home)}

    def __call__(self, *arguments: str | Path, input: str | None = None, **environment: str) -> CommandResult:
        with WarmProcess(
            [FORKPOINT, *map(str, arguments)],
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL if input is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                out, err = process.communicate(input, timeout=patience_s(120))
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return CommandResult(process.returncode, out, err)
