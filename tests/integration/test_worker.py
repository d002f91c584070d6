"""The worker that is really there: threads of this process, or distributed a Celery process of its own."""

import time

import pytest

from replay import services as replays
from replay.models import ReplaySession
from replay.schemas import ReplayRequest
from tests.recordings import order_run
from traces import services

LIMIT_S = 60


def _ended(session: ReplaySession) -> ReplaySession:
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until:
        session.refresh_from_db()
        if session.diff_id is not None:
            return session
        time.sleep(0.05)
    raise AssertionError(f"the session is still {session.status}")


@pytest.mark.usefixtures("worker")
@pytest.mark.django_db(transaction=True)
def test_a_launched_replay_is_worked_off_and_compared() -> None:
    recorded = services.record(order_run())
    session = _ended(replays.launch(ReplayRequest(run=str(recorded.run_id))))
    assert session.status == "completed_exact", session.error


@pytest.mark.django_db(transaction=True)
def test_what_an_earlier_process_left_is_taken_up(request: pytest.FixtureRequest) -> None:
    recorded = services.record(order_run())
    session = replays.launch(ReplayRequest(run=str(recorded.run_id)))
    ReplaySession.objects.filter(id=session.id).update(status="running", owner="gone:1:1", heartbeat_at=None)
    request.getfixturevalue("worker")  # only now: it would have taken the session before it was left behind
    replays.requeue_unfinished()
    assert _ended(session).status == "completed_exact"
