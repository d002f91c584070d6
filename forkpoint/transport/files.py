"""Files of events: one file per run, or one for all runs."""

import logging
from pathlib import Path

from forkpoint.transport.writer import Line

_log = logging.getLogger("forkpoint")


class FileSink:
    """Appends lines to `<path>/<run id>.jsonl`, or to the path itself when it is named `*.jsonl`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.dropped_events = 0
        self._has_warned = False

    def write(self, lines: list[Line]) -> None:
        by_run: dict[str, list[str]] = {}
        for line in lines:
            by_run.setdefault(line.run_id, []).append(line.text)
        for run_id, texts in by_run.items():
            try:
                self._append(run_id, texts)
            except OSError as error:
                self.dropped_events += len(texts)
                self._warn_once(error)

    def flush(self, timeout_s: float) -> bool:
        return True

    def close(self, timeout_s: float) -> None:
        """Do nothing: `write` leaves nothing open."""

    def reset(self) -> None:
        """Do nothing: `write` leaves nothing open."""

    def stats(self) -> dict[str, int]:
        return {}

    def _append(self, run_id: str, texts: list[str]) -> None:
        path = self.path if self.path.suffix == ".jsonl" else self.path / f"{run_id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        # "replace", because a lone surrogate in the agent's text has no UTF-8 encoding.
        data = ("\n".join(texts) + "\n").encode("utf-8", "replace")
        with path.open("ab", buffering=0) as file:
            file.write(data)

    def _warn_once(self, error: OSError) -> None:
        if not self._has_warned:
            self._has_warned = True
            _log.warning("Recording is incomplete: cannot write to %s (%s)", self.path, error)
