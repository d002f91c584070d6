"""Identifiers of rows are time-ordered."""

from traces.core.ids import new_id


def test_ids_sort_by_creation() -> None:
    ids = [new_id() for _ in range(500)]
    assert ids == sorted(ids)
    assert {id.version for id in ids} == {7}


def test_ids_differ_before_their_last_eight_digits() -> None:
    """Copies of steps have their sequence numbers there."""
    assert len({new_id().hex[:24] for _ in range(5_000)}) == 5_000
