"""Limits of the runs that a file yields: their number, their bytes and their steps. Pure.

What runs of a file share, such as the resource of their spans or the header of their log, is part of each of them, and
what steps share is part of each step. So a small file can yield runs of any size. They are weighed while they are
built: an importer stops at the limit.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from traces.core.recorded_run import RecordedRun
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source
from traces.ingest import run_weight

# Storing a run takes time however small it is. So runs are limited per file, and per MiB of a large file. Recordings
# of real work have more than 100 bytes per run unless they are compressed.
MAX_RUNS: Final = 10_000
MAX_RUNS_PER_MIB: Final = 5_000
_TOO_MANY_RUNS: Final = (
    "a file of this size may have {maximum:,} runs, and this one has more: nothing was imported from here on. "
    "Unpack it, or split it into several files"
)
# To store 1 MiB takes up to 0.4 s if all of it is secrets. Headers of real logs are shorter than eight samples.
FREE_RUN_BYTES: Final = 24 * 2**20
RUN_BYTES_PER_BYTE: Final = 8
# A compressed file may unpack to 200 times its size.
MAX_RUN_BYTES: Final = 128 * 2**20
MAX_RUN_BYTES_PER_PACKED_BYTE: Final = 64
_TOO_LARGE_RUNS: Final = (
    "the runs of this file have together more than {maximum:,} bytes, because they or their steps repeat what they "
    "share: nothing was imported from here on. Split the file into several"
)
# The shortest messages have 30 bytes, and text is compressed to a quarter. Branches of a conversation repeat its
# beginning, and `{}` can be a step.
MOST_STEPS: Final = 20_000
BYTES_PER_STEP: Final = 24
# A short chat has steps for its agent, its turn and its output beside those of its messages.
STEPS_PER_RUN: Final = 5
READ_BYTES_PER_PACKED_BYTE: Final = 4
_TOO_MANY_STEPS: Final = (
    "the runs of a file of this size may have {maximum:,} steps, and these have more: nothing was imported from here "
    "on. Unpack it, or split it into several files"
)


@dataclass(frozen=True, slots=True)
class WeighedRun:
    """A run, and its weight in bytes."""

    run: RecordedRun
    weight: int


@dataclass(kw_only=True, slots=True)
class RunLimits:
    """Limits of the runs of one file, or of files that belong together; `size` is that of the files, in bytes.

    `read_bytes` counts the bytes that they unpack to. Once `is_exceeded`, nothing more is read of them.
    """

    size: int
    read_bytes: int = 0
    is_exceeded: bool = False
    _runs: int = 0
    _steps: int = 0
    _bytes: int = 0

    def weigh(self, runs: Iterable[RecordedRun], sources: Sequence[Source]) -> Iterator[WeighedRun]:
        """Yield the runs of these sources up to the limits; the last source reports the first run beyond them."""
        for run in runs:
            weight = self._add(run)
            if reason := self._excess():
                self.is_exceeded = True
                sources[-1].problems.append(BadFile(reason, f"run {run.external_id}"))
                return
            yield WeighedRun(run, weight)

    @property
    def _max_bytes(self) -> int:
        most_packed = max(MAX_RUN_BYTES, self.size * MAX_RUN_BYTES_PER_PACKED_BYTE)
        return min(most_packed, FREE_RUN_BYTES + self.read_bytes * RUN_BYTES_PER_BYTE)

    def _add(self, run: RecordedRun) -> int:
        weight = run_weight.weigh(run, self._max_bytes - self._bytes)
        self._runs += 1
        self._steps += len(run.steps)
        self._bytes += weight
        return weight

    def _excess(self) -> str:
        """Return which limit of the files is exceeded; empty if none is."""
        max_runs = max(MAX_RUNS, self.size * MAX_RUNS_PER_MIB // 2**20)
        if self._runs > max_runs:
            return _TOO_MANY_RUNS.format(maximum=max_runs)
        size = min(self.read_bytes, self.size * READ_BYTES_PER_PACKED_BYTE)
        max_steps = max(MOST_STEPS, size // BYTES_PER_STEP + STEPS_PER_RUN * self._runs)
        if self._steps > max_steps:
            return _TOO_MANY_STEPS.format(maximum=max_steps)
        return _TOO_LARGE_RUNS.format(maximum=self._max_bytes) if self._bytes > self._max_bytes else ""
