"""The stages of an OTLP import, each with the CPU time that it takes."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from traces.core.gc_pause import without_pauses
from traces.importers import registry
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source
from traces.importers.otlp import spans, wire
from traces.ingest.prepare import prepare
from traces.runs import services

_ORDER: Final = ("detect", "decode", "steps", "prepare", "provenance", "rows")


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
    """Import the requests as files of one import."""
    sources = []
    for number, body in enumerate(bodies):
        stages.size += len(body)
        start = time.process_time()
        registry.detect(Sample(name=str(number), head=body, is_complete=True))
        stages.add("detect", start)
        start = time.process_time()
        list(wire.read_request(wire.request_from_protobuf(body), ""))
        stages.add("decode", start)
        sources.append(Source(name=str(number), data=body))
    start = time.process_time()
    runs = list(spans.parse(sources))
    stages.add("steps", start)
    stages.seconds["steps"] -= stages.seconds["decode"]
    stages.spans = sum(len(run.steps) for run in runs)
    for run in runs:
        with without_pauses():
            start = time.process_time()
            prepared = prepare(run)
            stages.add("prepare", start)
            start = time.process_time()
            prepared.provenance()
            stages.add("provenance", start)
    start = time.process_time()
    for first in range(0, len(runs), 200):
        services.record_all(runs[first : first + 200])
    stages.add("rows", start)
    stages.seconds["rows"] -= stages.seconds["prepare"] + stages.seconds["provenance"]
