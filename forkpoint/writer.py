"""Writes events in the background: the agent only ever appends to a queue."""

import atexit
import logging
import os
import sys
import threading
import time
from pathlib import Path
from typing import Final, NamedTuple

_log = logging.getLogger("forkpoint")
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
        self._told = False
        self._begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        """Nothing waits and no thread runs; a forked process begins anew, with what it records itself."""
        self._lock = threading.RLock()  # of the three below; again, when a collected object records
        self._waiting: list[Line] = []
        self._bytes = 0
        self._thread: threading.Thread | None = None
        self._called, self._idle = threading.Event(), threading.Event()
        self._idle.set()

    def put(self, run_id: str, text: str) -> None:
        """Queue one line; returns at once."""
        with self._lock:
            if len(self._waiting) >= _MOST_WAITING or self._bytes > _MOST_WAITING_BYTES:
                self.dropped += 1
                return
            self._bytes += len(text)
            self._waiting.append(Line(run_id, text))
            if self._thread is None:
                self._start()
        self._called.set()

    def flush(self, timeout_s: float = 5.0) -> bool:
        """Wait until everything queued so far is written; False when that took too long."""
        deadline = time.monotonic() + timeout_s
        while self._waiting or not self._idle.is_set():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.002)
        return True

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="forkpoint-recorder", daemon=True)
        self._thread.start()
        atexit.register(self.flush)
        if pool := sys.modules.get("multiprocessing.util"):
            pool.Finalize(None, self.flush, exitpriority=0)  # a process that it forked ends without atexit

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
        with self._lock:
            waiting, self._waiting, self._bytes = self._waiting, [], 0
        by_run: dict[str, list[str]] = {}
        for line in waiting:
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
