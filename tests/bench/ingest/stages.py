"""The stages of an OTLP import, each with the CPU time or the calls of functions that it takes."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from traces.core.gc_pause import without_pauses
from traces.core.recorded_run import RecordedRun
from traces.importers.files.source import Source
from traces.importers.otlp import spans as otlp
from traces.importers.otlp.batches import read_spans
from traces.importers.otlp.raw_spans import RawSpan
from traces.ingest.prepare import prepare
from traces.ingest.redaction import redact
from traces.redaction_policies import services as policies
from traces.runs import services

_STORING: Final = ("redact", "prepare", "provenance")
_ORDER: Final = ("decode", "steps", *_STORING, "rows")
_BATCH_REQUESTS: Final = 4
_BATCH_SIZE: Final = 16 * 2**20


@dataclass
class Stages:
    """What `clock` counts by stage, CPU seconds by default, and the amount of data."""

    clock: Callable[[], float] = time.process_time
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(_ORDER, 0.0))
    spans: int = 0
    size: int = 0

    def add(self, stage: str, start: float) -> None:
        """Add what the clock has counted since `start`."""
        self.seconds[stage] = self.seconds.get(stage, 0) + self.clock() - start


@contextmanager
def call_clock() -> Iterator[Callable[[], float]]:
    """Yield a clock that counts the calls of functions, in Python and in C: unlike times, they do not vary."""
    count = 0

    def profile(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        yield lambda: count
    finally:
        sys.setprofile(None)


def import_all(bodies: Iterable[bytes], stages: Stages) -> None:
    """Import request after request. Traces are stored together with those that end in the same few requests."""
    traces: dict[str, list[RawSpan]] = {}
    for batch in _batches(bodies):
        complete: list[list[RawSpan]] = []
        for body in batch:
            stages.size += len(body)
            start = stages.clock()
            spans = read_spans(body).spans
            stages.add("decode", start)
            stages.spans += len(spans)
            for span in spans:
                traces.setdefault(span.trace_id, []).append(span)
            complete += [traces.pop(span.trace_id) for span in spans if span.is_root]
        start = stages.clock()
        with without_pauses():
            runs = [run for parts in complete for run in otlp.parse([_source(parts)])]
        stages.add("steps", start)
        _store(runs, stages)


def _source(parts: Sequence[RawSpan]) -> Source:
    return Source(name="trace", data=b"".join(part.data for part in parts))


def _batches(bodies: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield what a writer commits together: a few requests, or one large one."""
    batch: list[bytes] = []
    for body in bodies:
        batch.append(body)
        if len(batch) == _BATCH_REQUESTS or sum(map(len, batch)) > _BATCH_SIZE:
            yield batch
            batch = []
    if batch:
        yield batch


def _store(runs: list[RecordedRun], stages: Stages) -> None:
    """Store runs, and measure the stages before the rows separately."""
    before = sum(stages.seconds[name] for name in _STORING)
    redactions = policies.RedactionByApp()
    for run in runs:
        with without_pauses():
            start = stages.clock()
            redact(run, redactions[run.app])
            middle = stages.clock()
            stages.add("redact", start)
            prepared = prepare(run, redactions[run.app])
            stages.add("prepare", middle)
            stages.seconds["prepare"] -= middle - start
            start = stages.clock()
            prepared.provenance()
            stages.add("provenance", start)
    start = stages.clock()
    services.record_all(runs)
    stages.add("rows", start)
    stages.seconds["rows"] -= sum(stages.seconds[name] for name in _STORING) - before
