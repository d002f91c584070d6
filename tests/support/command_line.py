"""The command `forkpoint`, run as a script runs it."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.patience import patience_s

COMMAND = [sys.executable, "-c", "from cockpit.cli import main; main()"]


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


# Starting Python and Django takes longer than most commands: one process runs them one after the other.
COMMAND_LOOP = """
import contextlib, io, json, sys
from cockpit.cli import main
for line in sys.stdin:
    asked = json.loads(line)
    out, err, code = io.StringIO(), io.StringIO(), 0
    sys.argv, given = ["forkpoint", *asked["arguments"]], sys.stdin
    sys.stdin = io.StringIO(asked["input"])
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as left:
            code = int(left.code or 0)
    sys.stdin = given
    print(json.dumps([code, out.getvalue(), err.getvalue()]), flush=True)
"""


class Warm:
    """A process that runs the command line again and again, each time as a fresh command."""

    def __init__(self, shell: "Shell") -> None:
        self.shell = shell
        self._process = subprocess.Popen(
            [sys.executable, "-c", COMMAND_LOOP],
            env=shell.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *arguments: str | Path, input: str = "", **environment: str) -> Said:
        if environment:
            return self.shell(*arguments, input=input, **environment)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        asked = {"arguments": [str(each) for each in arguments], "input": input}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return Said(*json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait(patience_s(30))


@dataclass(frozen=True)
class Shell:
    """Each command in a process of its own."""

    home: Path

    @property
    def environment(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("FORKPOINT_", "COVERAGE"))}
        kept = {key: value for key, value in kept.items() if key not in {"DATABASE_URL", "REDIS_URL"}}
        return {**kept, "FORKPOINT_HOME": str(self.home)}

    def __call__(self, *arguments: str | Path, input: str | None = None, **environment: str) -> Said:
        done = subprocess.run(
            [*COMMAND, *map(str, arguments)],
            env={**self.environment, **environment},
            input=input,
            capture_output=True,
            text=True,
            timeout=patience_s(120),
            check=False,
        )
        return Said(done.returncode, done.stdout, done.stderr)
