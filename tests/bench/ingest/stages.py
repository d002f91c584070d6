"""The stages of an OTLP import, each with the CPU time that it takes."""

import time
from collections.abc import Iterable, Iterator, Sequence
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
    """CPU seconds by stage, and the amount of data."""

    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(_ORDER, 0.0))
    spans: int = 0
    size: int = 0

    def add(self, stage: str, start: float) -> None:
        """Add the CPU time since `start`."""
        self.seconds[stage] = self.seconds.get(stage, 0) + time.process_time() - start


def import_all(bodies: Iterable[bytes], stages: Stages) -> None:
    """Import request after request. Traces are stored together with those that end in the same few requests."""
    traces: dict[str, list[RawSpan]] = {}
    for batch in _batches(bodies):
        complete: list[list[RawSpan]] = []
        for body in batch:
            stages.size += len(body)
            start = time.process_time()
            spans = read_spans(body).spans
            stages.add("decode", start)
            stages.spans += len(spans)
            for span in spans:
                traces.setdefault(span.trace_id, []).append(span)
            complete += [traces.pop(span.trace_id) for span in spans if span.is_root]
        start = time.process_time()
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
            start = time.process_time()
            redact(run, redactions[run.app])
            middle = time.process_time()
            stages.add("redact", start)
            prepared = prepare(run, redactions[run.app])
            stages.add("prepare", middle)
            stages.seconds["prepare"] -= middle - start
            start = time.process_time()
            prepared.provenance()
            stages.add("provenance", start)
    start = time.process_time()
    services.record_all(runs)
    stages.add("rows", start)
    stages.seconds["rows"] -= sum(stages.seconds[name] for name in _STORING) - before
