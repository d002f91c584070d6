"""Identifiers of rows are time-ordered, whether they are made one by one or many at a time."""

from uuid import UUID

from traces.core.ids import new_hex_ids, new_id


def test_ids_made_at_once_sort_between_single_ones() -> None:
    ids = [new_id().hex, *new_hex_ids(500), new_id().hex]
    assert ids == sorted(ids)
    assert len(set(ids)) == len(ids)
    assert {UUID(id).version for id in ids} == {7}
