"""`/metrics`: the metrics in the text format of Prometheus."""

import os
import time
from pathlib import Path
from typing import Final

import structlog
from django.conf import settings
from django.db import Error as DatabaseError
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from cockpit.metrics import store
from cockpit.metrics.exposition import CONTENT_TYPE, Metric, Sample, render
from cockpit.metrics.requests import COUNTS

log = structlog.get_logger("cockpit.metrics")
_STARTED_AT: Final = time.time()
_STATM: Final = Path("/proc/self/statm")


@require_safe
def read_metrics(request: HttpRequest) -> HttpResponse:
    """Return the metrics of this process, and those of the store if its database answers."""
    return HttpResponse(render([*_process(), *COUNTS.metrics(), *_store()]), content_type=CONTENT_TYPE)


def _store() -> list[Metric]:
    try:
        metrics = store.metrics()
    except DatabaseError as error:
        log.warning("metrics_incomplete", error=str(error).partition("\n")[0])
        metrics = []
    state = [Sample(value=bool(metrics))]
    return [
        Metric(name="forkpoint_database_up", help="1 if the database answers.", type="gauge", samples=state),
        *metrics,
    ]


def _process() -> list[Metric]:
    version = Sample(value=1, labels={"version": settings.VERSION})
    return [
        Metric(name="forkpoint_info", help="The version that runs.", type="gauge", samples=[version]),
        Metric(
            name="process_start_time_seconds",
            help="When this process started, in seconds since 1970.",
            type="gauge",
            samples=[Sample(value=_STARTED_AT)],
        ),
        Metric(
            name="process_cpu_seconds_total",
            help="CPU time of this process.",
            type="counter",
            samples=[Sample(value=time.process_time())],
        ),
        Metric(
            name="process_resident_memory_bytes",
            help="Memory of this process; Linux only.",
            type="gauge",
            samples=_memory(),
        ),
    ]


def _memory() -> list[Sample]:
    try:
        pages = int(_STATM.read_text().split()[1])
    except OSError:
        return []
    return [Sample(value=pages * os.sysconf("SC_PAGE_SIZE"))]
