"""Writes events in the background: the agent only ever appends to a queue."""

import atexit
import logging
import os
import threading
import time
from collections import deque
from pathlib import Path
from typing import Final, NamedTuple

_log = logging.getLogger("traces.sdk")
_MOST_WAITING: Final = 50_000  # events
_MOST_WAITING_BYTES: Final = 256 * 1024 * 1024
_GATHER_S: Final = 0.02  # what comes in this time is written together


class Line(NamedTuple):
    run_id: str
    text: str


class Writer:
    """Appends lines to `<sink>/<run id>.jsonl`, or to the sink itself when it is named `*.jsonl`.

    When more waits than the limits allow, new lines are dropped and counted: memory is the agent's.
    """

    def __init__(self, sink: Path) -> None:
        self.sink = sink
        self.dropped = 0
        self._waiting: deque[Line] = deque()
        self._bytes = 0
        self._called = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._thread: threading.Thread | None = None
        self._process = os.getpid()
        self._told = False

    def put(self, run_id: str, text: str) -> None:
        """Queue one line; returns at once."""
        if len(self._waiting) >= _MOST_WAITING or self._bytes > _MOST_WAITING_BYTES:
            self.dropped += 1
            return
        self._bytes += len(text)
        self._waiting.append(Line(run_id, text))
        if not self._called.is_set():
            self._wake()

    def flush(self, timeout_s: float = 5.0) -> bool:
        """Wait until everything queued so far is written; False when that took too long."""
        deadline = time.monotonic() + timeout_s
        while self._waiting or not self._idle.is_set():
            if time.monotonic() > deadline:
                return False
            self._wake()
            time.sleep(0.002)
        return True

    def _wake(self) -> None:
        if self._thread is None or self._process != os.getpid():
            self._begin()
        self._called.set()

    def _begin(self) -> None:
        """Start the thread; a forked process starts its own, for what it records itself."""
        if self._process != os.getpid():
            self._waiting.clear()
            self._bytes = 0
            self._process = os.getpid()
            self._called, self._idle = threading.Event(), threading.Event()
            self._idle.set()
        self._thread = threading.Thread(target=self._run, name="forkpoint-recorder", daemon=True)
        self._thread.start()
        atexit.register(self.flush)

    def _run(self) -> None:
        called, idle = self._called, self._idle
        while True:
            called.wait()
            time.sleep(_GATHER_S)
            called.clear()
            idle.clear()
            self._write_waiting()
            idle.set()

    def _write_waiting(self) -> None:
        by_run: dict[str, list[str]] = {}
        for _ in range(len(self._waiting)):
            line = self._waiting.popleft()
            self._bytes -= len(line.text)
            by_run.setdefault(line.run_id, []).append(line.text)
        for run_id, texts in by_run.items():
            try:
                self._append(run_id, texts)
            except OSError as error:
                self.dropped += len(texts)
                self._tell(error)

    def _append(self, run_id: str, texts: list[str]) -> None:
        path = self.sink if self.sink.suffix == ".jsonl" else self.sink / f"{run_id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        # "replace": a lone surrogate in the agent's text has no bytes
        data = ("\n".join(texts) + "\n").encode("utf-8", "replace")
        with path.open("ab", buffering=0) as file:
            file.write(data)

    def _tell(self, error: OSError) -> None:
        if not self._told:
            self._told = True
            _log.warning("Recording is incomplete: cannot write to %s (%s)", self.sink, error)
