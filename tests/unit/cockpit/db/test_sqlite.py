"""The queue of writers in one process."""

import signal
import threading
from types import FrameType

import pytest

from cockpit.db.sqlite.base import FifoLock
from tests.support.patience import join, wait_until


def test_writers_come_in_the_order_of_their_arrival() -> None:
    lock, came = FifoLock(), []
    lock.acquire()

    def write(number: int) -> None:
        lock.acquire()
        came.append(number)
        lock.release()

    writers = [threading.Thread(target=write, args=(number,)) for number in range(20)]
    for writer in writers:
        writer.start()
        wait_until(lambda: len(lock._waiting) >= sum(map(threading.Thread.is_alive, writers)), 20)
    lock.release()
    for writer in writers:
        join(writer, 20)
    assert came == list(range(20))


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers of signals there")
def test_a_writer_that_is_interrupted_while_it_waits_stops_nobody() -> None:
    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    lock = FifoLock()
    before = signal.signal(signal.SIGALRM, interrupt)
    lock.acquire()
    try:
        with pytest.raises(KeyboardInterrupt):
            _acquire_with_alarm(lock)
    finally:
        signal.signal(signal.SIGALRM, before)
    lock.release()
    next_writer = threading.Thread(target=lock.acquire, daemon=True)
    next_writer.start()
    join(next_writer, 20)


def _acquire_with_alarm(lock: FifoLock) -> None:
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    lock.acquire()


def test_a_writer_that_gives_up_stops_nobody() -> None:
    lock = FifoLock()
    assert lock.acquire(0.01)
    assert not lock.acquire(0.01)
    lock.release()
    assert lock.acquire(0.01)
