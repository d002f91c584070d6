"""`forkpoint serve` as people run it: a process of its own, with a home of its own."""

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from queue import Empty, Queue

from tests.services.processes import CannotStart, stop
from tests.support.patience import patience_s

START_LIMIT_S = 60
_FORKPOINT = "from cockpit.cli import main; main()"
_LISTENING = re.compile(r"Forkpoint is running at (http://\S+)")


class Server:
    """A running server; `kill` and `start` again keep its home and its address."""

    def __init__(self, home: Path, *options: str, env: dict[str, str] | None = None) -> None:
        self.home = home
        self.url = ""
        self._options = options
        self._env = {**os.environ, "FORKPOINT_HOME": str(home), "PYTHONUNBUFFERED": "1", **(env or {})}
        self._process: subprocess.Popen[bytes] | None = None
        self.log = home.with_suffix(".log")

    @property
    def pid(self) -> int:
        """The process id of the running server."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        port = self.url.rpartition(":")[2] or "0"
        command = [sys.executable, "-c", _FORKPOINT, "serve", "--port", port, *self._options]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=self._env)
        announced: Queue[str] = Queue()
        threading.Thread(target=self._read, args=(self._process, announced), daemon=True).start()
        try:
            self.url = announced.get(timeout=patience_s(START_LIMIT_S))
        except Empty:
            self.kill()
        if not self.url:
            raise CannotStart(f"{' '.join(command)}: {self.log.read_text(errors='replace')[-3000:]}")

    def _read(self, process: subprocess.Popen[bytes], announced: "Queue[str]") -> None:
        """Read until the address comes, and on: a full pipe would stop the server."""
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                if found := _LISTENING.search(line.decode()):
                    announced.put(found[1])
        announced.put("")

    def stop(self) -> int:
        """Ask it to end; the exit code."""
        assert self._process is not None
        stop(self._process, signal.SIGTERM)
        return self._process.returncode

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()
