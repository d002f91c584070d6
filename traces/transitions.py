"""The one way to change the status of stored rows: compare and set, along the moves that the status allows."""

from typing import Any, TypeVar

from django.db.models import QuerySet

from traces.core.statuses import Status

_Status = TypeVar("_Status", bound=Status)


def move(rows: QuerySet[Any], before: _Status, after: _Status, **columns: Any) -> int:
    """Move those of the rows that are still in `before` on to `after`, with other columns; answers how many.

    Raises `InvalidTransition`, and writes nothing, where `after` may not follow.
    """
    return rows.filter(status=before).update(status=before.move_to(after), **columns)


def reach(rows: QuerySet[Any], after: _Status, **columns: Any) -> int:
    """Move those of the rows to `after` that are in any status that it may follow; answers how many."""
    before = [status for status in type(after) if after in status.successors]
    return rows.filter(status__in=before).update(status=after, **columns)
