"""How much is done for each span that arrives, as calls of functions: unlike times, they do not vary."""

from datetime import UTC, datetime

import pytest

from tests.bench.ingest.stages import call_clock
from tests.bench.ingest.workloads import requests, workload
from traces.collectors.otlp import segments
from traces.importers.otlp.raw_spans import Signal
from traces.models import Recording, Run, Step
from traces.recordings import arrivals, assembler
from traces.search import indexer

# On SQLite, for which the limit is.
pytestmark = [pytest.mark.django_db, pytest.mark.once]
# The rest of the first runs goes to what a process does once.
_WARM_UP, _RUNS = 20, 200
# Today 1,083 and 257.
_MOST_CALLS = 1_090
_MOST_INDEX_CALLS = 270


def _store(first: int, last: int) -> tuple[int, int]:
    """Let runs arrive and be sealed, and index them; return the calls of functions that each takes."""
    bodies = list(requests(workload("small", last)))[first * 6 // 100 :]
    with call_clock() as clock:
        for body in bodies:
            arrivals.accept(segments.split(body, Signal.TRACES).segments)
        Recording.objects.filter(due_at__isnull=False).update(
            arrived_at=datetime(2026, 1, 1, tzinfo=UTC), due_at=datetime(2026, 1, 1, tzinfo=UTC)
        )
        while assembler.work():
            pass
        calls = int(clock())
        while indexer.work():
            pass
        return calls, int(clock()) - calls


def test_calls_of_functions_per_span() -> None:
    _store(0, 20)
    before = Step.objects.count()
    calls, index_calls = _store(20, _RUNS)
    assert Run.objects.filter(sealed_at__isnull=True).count() == 0
    spans = Step.objects.count() - before
    assert calls / spans < _MOST_CALLS
    assert index_calls / spans < _MOST_INDEX_CALLS
