"""The process of the desk's runner: started, started again if it dies, and ended with the server."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

import structlog

from cockpit.http import auth

log = structlog.get_logger("cockpit.demo")
_COMMAND: Final = (sys.executable, "-m", "cockpit.demo.runner")
# What Python needs. Keys and settings of the server are none of the desk's business.
_VARIABLES: Final = ("HOME", "LANG", "LC_ALL", "PATH", "PYTHONPATH", "TMPDIR", "VIRTUAL_ENV")
_FIRST_PAUSE_S: Final = 1.0
_LONGEST_PAUSE_S: Final = 60.0
# For the runner to end its agents.
_GRACE_S: Final = 3.0


class Supervisor:
    """Keeps one process of the runner alive."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stop_event = threading.Event()
        self._process: subprocess.Popen[str] | None = None

    def run(self, address: str) -> None:
        """Keep the runner of the server at this address alive until `stop`."""
        token = auth.add_program("demo runner", "debugger")
        pause_s = _FIRST_PAUSE_S
        while (process := self._start(address, token)) is not None:
            last_line = _last_line(process.stderr or ())
            code = process.wait()
            if self._stop_event.is_set():
                break
            log.warning("demo_runner_ended", exit_code=code, reason=last_line, next_start_s=pause_s)
            self._stop_event.wait(pause_s)
            pause_s = min(_LONGEST_PAUSE_S, 2 * pause_s)
        auth.remove_program(token)

    def stop(self) -> None:
        """End the runner, if it was started, and start none."""
        with self._lock:
            self._stop_event.set()
            process = self._process
        if process is None:
            return
        process.terminate()
        try:
            process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()

    def _start(self, address: str, token: str) -> "subprocess.Popen[str] | None":
        with self._lock:
            if self._stop_event.is_set():
                return None
            self._process = subprocess.Popen(
                _COMMAND,
                env=_environment(address, token),
                # The runner ends when this pipe does: also if this process is killed.
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                # So that a Ctrl+C for the server does not reach it first.
                start_new_session=True,
            )
            return self._process


def _environment(address: str, token: str) -> dict[str, str]:
    variables = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    return {**variables, "FORKPOINT_URL": address, "FORKPOINT_TOKEN": token}


def _last_line(lines: Iterable[str]) -> str:
    """Read all that the runner prints while it runs; return the last line."""
    last_line = ""
    with suppress(ValueError):
        for line in lines:
            last_line = line.strip() or last_line
    return last_line
