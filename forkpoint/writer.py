"""Write events on a background thread: the agent only appends to a queue."""

import atexit
import logging
import os
import sys
import threading
import time
from pathlib import Path
from typing import Final, NamedTuple

_log = logging.getLogger("forkpoint")
_MAX_QUEUE: Final = 50_000  # events
_MAX_QUEUE_BYTES: Final = 256 * 1024 * 1024
# Lines that arrive within this time are written together.
_BATCH_S: Final = 0.02


class Line(NamedTuple):
    run_id: str
    text: str


class Writer:
    """Appends lines to `<sink>/<run id>.jsonl`, or to the sink itself when it is named `*.jsonl`.

    When the queue is full, new lines are dropped and counted, so that recording cannot exhaust the agent's memory.
    """

    def __init__(self, sink: Path) -> None:
        self.sink = sink
        self.dropped_events = 0
        self._has_warned = False
        self._reset()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        """Start with an empty queue and no thread; a forked process writes only what it records itself."""
        # Guards the three below. Re-entrant, because an object that is garbage-collected meanwhile may record too.
        self._lock = threading.RLock()
        self._queue: list[Line] = []
        self._bytes = 0
        self._thread: threading.Thread | None = None
        self._wakeup, self._idle = threading.Event(), threading.Event()
        self._idle.set()

    def enqueue(self, run_id: str, text: str) -> None:
        """Add a line to the queue. Never blocks."""
        with self._lock:
            if len(self._queue) >= _MAX_QUEUE or self._bytes > _MAX_QUEUE_BYTES:
                self.dropped_events += 1
                return
            self._bytes += len(text)
            self._queue.append(Line(run_id, text))
            if self._thread is None:
                self._start()
        self._wakeup.set()

    def flush(self, timeout_s: float = 5.0) -> bool:
        """Wait until every line queued so far is written; return False on timeout."""
        deadline = time.monotonic() + timeout_s
        while self._queue or not self._idle.is_set():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.002)
        return True

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="forkpoint-recorder", daemon=True)
        self._thread.start()
        atexit.register(self.flush)
        if pool := sys.modules.get("multiprocessing.util"):
            # A process that multiprocessing forked ends without running atexit.
            pool.Finalize(None, self.flush, exitpriority=0)

    def _run(self) -> None:
        wakeup, idle = self._wakeup, self._idle
        while True:
            wakeup.wait()
            time.sleep(_BATCH_S)
            wakeup.clear()
            idle.clear()
            self._write_queue()
            idle.set()

    def _write_queue(self) -> None:
        with self._lock:
            batch, self._queue, self._bytes = self._queue, [], 0
        by_run: dict[str, list[str]] = {}
        for line in batch:
            by_run.setdefault(line.run_id, []).append(line.text)
        for run_id, texts in by_run.items():
            try:
                self._append(run_id, texts)
            except OSError as error:
                self.dropped_events += len(texts)
                self._warn_once(error)

    def _append(self, run_id: str, texts: list[str]) -> None:
        path = self.sink if self.sink.suffix == ".jsonl" else self.sink / f"{run_id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        # "replace", because a lone surrogate in the agent's text has no UTF-8 encoding.
        data = ("\n".join(texts) + "\n").encode("utf-8", "replace")
        with path.open("ab", buffering=0) as file:
            file.write(data)

    def _warn_once(self, error: OSError) -> None:
        if not self._has_warned:
            self._has_warned = True
            _log.warning("Recording is incomplete: cannot write to %s (%s)", self.sink, error)
