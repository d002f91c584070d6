"""`forkpoint serve` as users run it: in its own process with its own home."""

import os
import re
import signal
import subprocess
import threading
from pathlib import Path
from queue import Empty, Queue

from tests.services.processes import CannotStart, stop
from tests.services.warm_start import FORKPOINT, WarmProcess
from tests.support.patience import patience_s

START_LIMIT_S = 60
_LISTENING = re.compile(r"Forkpoint is running at (http://\S+)")


class Server:
    """A server. `kill` followed by `start` keeps its home and address."""

    def __init__(
        self,
        home: Path,
        *options: str,
        env: dict[str, str] | None = None,
        program: tuple[str | Path, ...] = (),
    ) -> None:
        self.home = home
        self._program = program
        self.url = ""
        self._options = options
        self._env = {**os.environ, "FORKPOINT_HOME": str(home), "PYTHONUNBUFFERED": "1", **(env or {})}
        self._process: subprocess.Popen[bytes] | None = None
        self.log = home.with_suffix(".log")

    @property
    def pid(self) -> int:
        """Return the process id of the running server."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        port = self.url.rpartition(":")[2] or "0"
        command = [*map(str, self._program or (FORKPOINT,)), "serve", "--port", port, *self._options]
        start = subprocess.Popen if self._program else WarmProcess
        with self.log.open("ab") as log:
            self._process = start(command, stdout=subprocess.PIPE, stderr=log, env=self._env)
        addresses: Queue[str] = Queue()
        threading.Thread(target=self._read, args=(self._process, addresses), daemon=True).start()
        try:
            self.url = addresses.get(timeout=patience_s(START_LIMIT_S))
        except Empty:
            self.kill()
        if not self.url:
            raise CannotStart(f"{' '.join(command)}: {self.log.read_text(errors='replace')[-3000:]}")

    def _read(self, process: subprocess.Popen[bytes], addresses: "Queue[str]") -> None:
        """Read the address and all further output, because a full pipe would block the server."""
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                if match := _LISTENING.search(line.decode()):
                    addresses.put(match[1])
        addresses.put("")

    def stop(self) -> int:
        """Stop the server and return its exit code."""
        assert self._process is not None
        stop(self._process, signal.SIGTERM)
        return self._process.returncode

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()
