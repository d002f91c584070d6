"""One recording that is being assembled, and what became of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final
from uuid import UUID

from django.conf import settings

from traces.core.recorded_run import RecordedRun
from traces.ingest.seal_times import Patience, seal_time
from traces.models import Recording
from traces.runs.growing_runs import WriteResult

_LONGEST_PROBLEM: Final = 2_000


# Compared by identity: comparing two jobs would compare their runs.
@dataclass(kw_only=True, slots=True, eq=False)
class Job:
    """One recording in a batch, and what became of it."""

    recording: Recording
    time: datetime
    run: RecordedRun | None = None
    branches: Sequence[RecordedRun] = ()
    # Versions of the detectors that looked at all of its records.
    checks: frozenset[str] = frozenset()
    result: WriteResult | None = None
    problem: str = ""
    # Parts of the recording had to be left out to read the others.
    is_salvaged: bool = False
    kinds: Sequence[str] = ()
    cost: timedelta = timedelta()

    @property
    def is_due_to_seal(self) -> bool:
        return seal_time_of(self.recording) <= self.time

    @property
    def is_complete(self) -> bool:
        """Whether the run is written in full: no more steps are expected."""
        return self.is_due_to_seal or self.recording.has_ended or self.recording.is_final

    @property
    def needs_assembly(self) -> bool:
        recording = self.recording
        return recording.version != recording.assembled_version or (self.is_complete and not recording.is_complete)

    @property
    def is_written(self) -> bool:
        """Whether the run contains this state, or one that was complete."""
        return self.result is not None or self.recording.is_complete

    @property
    def run_id(self) -> UUID | None:
        return self.result.run_id if self.result else self.recording.run_id

    def note_problems(self, problems: Iterable[str]) -> None:
        """Add to what is wrong with the recording, once each."""
        texts = dict.fromkeys(filter(None, [*self.problem.split("; "), *problems]))
        self.problem = "; ".join(texts)[:_LONGEST_PROBLEM]


def patience() -> Patience:
    return _patience(settings.QUIET_S, settings.IDLE_S)


# Asked for several times for each recording.
@lru_cache
def _patience(quiet_s: float, idle_s: float) -> Patience:
    return Patience(quiet=timedelta(seconds=quiet_s), idle=timedelta(seconds=idle_s))


def seal_time_of(recording: Recording) -> datetime:
    return seal_time(
        recording.arrived_at,
        patience(),
        has_ended=recording.has_ended,
        is_final=recording.is_final,
        interrupted_at=recording.interrupted_at,
    )
