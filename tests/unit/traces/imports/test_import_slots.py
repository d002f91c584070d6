import pytest

from traces.http.throttling import TooManyRequests
from traces.imports.import_slots import Slot


def test_second_large_import_is_rejected() -> None:
    slot = Slot(waiting=1, patience_s=0.01)
    slot.acquire()
    with pytest.raises(TooManyRequests) as refusal:
        slot.acquire()
    assert refusal.value.wait > 0
    slot.release()
    slot.acquire()


def test_rejection_frees_its_queue_slot() -> None:
    slot = Slot(waiting=1, patience_s=0.01)
    slot.acquire()
    for _ in range(3):
        with pytest.raises(TooManyRequests):
            slot.acquire()
    slot.release()
    slot.acquire()


def test_full_queue_rejects_at_once() -> None:
    slot = Slot(waiting=0, patience_s=60)
    slot.acquire()
    with pytest.raises(TooManyRequests):
        slot.acquire()
