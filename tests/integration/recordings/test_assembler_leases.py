"""Several workers assemble recordings: each belongs to one of them for a while, and the first result counts."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import pytest

from tests.support.arriving_events import Event, answer, beginning, ending, lines
from tests.support.assembler_time import let_pass
from traces.core.vocabulary import RunStatus
from traces.models import Recording, Run, Segment
from traces.recordings import arrivals, assembler
from traces.recordings.arrivals import NewSegment

pytestmark = pytest.mark.django_db
RUN = "run-1"


def _send(events: Iterable[Event], *, has_ended: bool = False, run: str = RUN) -> None:
    segment = NewSegment(external_id=run, format="forkpoint", data=lines(events), has_ended=has_ended)
    arrivals.accept([segment])


def test_leased_recording_is_left_to_its_worker() -> None:
    _send(beginning(RUN))
    Recording.objects.update(leased_until=datetime.now(UTC) + timedelta(seconds=60))
    let_pass(1)
    assert not Run.objects.exists()
    Recording.objects.update(leased_until=datetime.now(UTC) - timedelta(seconds=1))
    let_pass(1)
    assert Run.objects.count() == 1


def test_lease_is_as_long_as_the_recording_needs() -> None:
    """So that a dead worker keeps a short one from the others for half a minute only."""
    _send(beginning(RUN))
    Segment.objects.update(size=100_000_000)
    _send(beginning("run-2"), run="run-2")
    for run, seconds in ((RUN, 230), ("run-2", 30)):
        Recording.objects.filter(external_id=run).update(due_at=datetime.now(UTC) - timedelta(seconds=1))
        [job] = assembler._claim()
        lease = Recording.objects.get(id=job.recording.id).leased_until
        assert lease is not None
        assert round((lease - job.time).total_seconds()) == seconds


def test_worker_that_others_have_overtaken_stores_nothing() -> None:
    """It was suspended for longer than its lease: the run is sealed, and has more than it read."""
    _send(beginning(RUN))
    Recording.objects.update(due_at=datetime.now(UTC) - timedelta(seconds=1))
    jobs = assembler._claim()
    Recording.objects.update(leased_until=None)
    _send([*answer(RUN), *ending(RUN)], has_ended=True)
    let_pass(10)
    assert assembler._assemble_batch(jobs)
    let_pass(10)
    assert list(Run.objects.values_list("revision", "step_count", "status")) == [(1, 2, RunStatus.COMPLETED)]
