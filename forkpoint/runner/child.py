"""One start of an agent: a process in a group of its own, whose output is read line by line."""

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import IO, Final

from forkpoint.confinement.left_processes import end_left_processes

# The agent may tidy up for this long.
_GRACE_S: Final = 5.0
_LONGEST_LINE: Final = 4_000
Print = Callable[[str, str], None]


class Child:
    """A running agent. `print_line` gets the stream and the text of each line, `report` the exit code.

    `mark` is in the environment of its processes, so that those which leave the group are found.
    """

    def __init__(
        self,
        words: Sequence[str],
        environment: Mapping[str, str],
        *,
        mark: str,
        text: str | None,
        print_line: Print,
        report: Callable[[int], None],
    ) -> None:
        """Start the agent, with a text on its standard input if there is one; raise `OSError`."""
        self._process = subprocess.Popen(
            words,
            env=environment,
            stdin=subprocess.DEVNULL if text is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # So that all of its processes can be ended, and a Ctrl+C in the runner's terminal does not reach them.
            start_new_session=True,
        )
        self._mark = mark
        self._print = print_line
        self._report = report
        self._lock = threading.Lock()
        self._has_ended = False
        threading.Thread(target=self._follow, args=(text,), daemon=True).start()

    def end(self) -> None:
        """End the agent's processes, at first politely."""
        self._signal(signal.SIGTERM)
        timer = threading.Timer(_GRACE_S, self._signal, [signal.SIGKILL])
        timer.daemon = True
        timer.start()

    def end_now(self) -> None:
        """End the agent's processes at once."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        """Signal the group, unless its number may belong to others by now."""
        with self._lock, suppress(ProcessLookupError, PermissionError):
            if not self._has_ended:
                os.killpg(self._process.pid, number)

    def _follow(self, text: str | None) -> None:
        process = self._process
        streams = (("stdout", process.stdout), ("stderr", process.stderr))
        readers = [threading.Thread(target=self._read, args=stream, daemon=True) for stream in streams]
        for reader in readers:
            reader.start()
        if process.stdin is not None:
            with suppress(OSError), process.stdin:
                process.stdin.write((text or "").encode("utf-8", "replace"))
        # Without reaping it, so that its number stays its own until the rest of its group is ended.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        self._signal(signal.SIGKILL)
        with self._lock:
            self._has_ended = True
            code = process.wait()
        count = end_left_processes(self._mark)
        for reader in readers:
            # A process without the mark may keep the pipe open.
            reader.join(_GRACE_S)
        if count:
            self._print("stderr", f"forkpoint: processes that the agent left behind are ended: {count}")
        self._report(code)

    def _read(self, name: str, stream: IO[bytes]) -> None:
        with stream, suppress(ValueError):
            while line := stream.readline(_LONGEST_LINE):
                self._print(name, line.decode("utf-8", "replace").rstrip("\r\n"))
